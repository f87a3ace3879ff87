"""Runs kernels of a genuine Metal library as PyTorch's host code launches them, against torch on the CPU.

    python tests/genuine/run.py FILE.metallib                        every kernel that families/ covers
    python tests/genuine/run.py FILE.metallib --only 'add_.*'        kernels whose whole name matches
    python tests/genuine/run.py FILE.metallib --sample 1/40 --jobs 2 --table now.tsv
    python tests/genuine/run.py FILE.metallib --engine coroutines --against now.tsv
    python tests/genuine/run.py torch-2.14.1-0.metallib --known torch-2.13.0-0.metallib --table outcomes-2.14.tsv
    python tests/genuine/run.py --source TREE --against now.tsv --sameness same.tsv

They are launched as the release of PyTorch does that the library's name says, torch-RELEASE-N.metallib, or --release.

With --source the kernels are compiled by our frontend from the .metal files of TREE, a checkout of PyTorch. Against a
table of Apple's kernels on the same machine, the same outputs are the same bits of every output on every input.

A verdict is one of

    equal         to the bit (any NaN is as good as another)
    close         within the tolerances that its checker gives reasons for
    differs       neither
    refused       the product said that it does not run this kernel
    error         the checker failed
    crash, hang, memory   the worker process died, took too long, or grew too large

Kernels run in worker processes: a crash is the verdict of one kernel, and the next one gets a fresh process.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "conformance"), str(HERE.parents[1] / "tools")]

import genuine_kernels  # noqa: E402 - these live next door
import results  # noqa: E402
import shepherd  # noqa: E402

BATCH = 500  # kernels per process: their code stays loaded
# PyTorch launches these on Macs before M5, whose lanes hold other elements of a matrix.
ON_EARLIER_MACS = re.compile(r".*_mpp_a9_.*")
EARLIER_MAC = "m4-16gb"


def list_kernels(worker: list[str], env: dict[str, str]) -> list[tuple[str, bool]]:
    """All names, sorted, each with whether a family covers it."""
    done = subprocess.run([*worker, "--list"], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-3000:])
    sys.stderr.write(done.stderr)
    return [(name, covered) for name, covered in json.loads(done.stdout.splitlines()[-1])]


class Progress:
    """A line that overwrites itself, where someone is looking."""

    def __init__(self, total: int):
        self.total, self.done, self.bad, self.began = total, 0, 0, time.monotonic()

    def count(self, verdict: str) -> None:
        self.done += 1
        self.bad += verdict not in results.GOOD
        if sys.stderr.isatty():
            seconds = time.monotonic() - self.began
            end = "\n" if self.done == self.total else ""
            print(
                f"\r{self.done} of {self.total}, {self.bad} bad, {seconds:.0f} s", end=end, file=sys.stderr, flush=True
            )


def run(worker: list[str], kernels: list[str], jobs: int, limit_s: float, env: dict[str, str]) -> list[results.Row]:
    rows, progress = [], Progress(len(kernels))

    def report(name: str, answer: dict) -> None:
        verdict = "hang" if answer["outcome"] == "timeout" else answer["outcome"]
        measured = (answer.get("checks", 0), answer.get("worst", 0.0), answer.get("digest", ""))
        rows.append(results.Row(name, verdict, *measured, answer["detail"]))
        progress.count(verdict)

    earlier = [name for name in kernels if ON_EARLIER_MACS.fullmatch(name)]
    others = [name for name in kernels if not ON_EARLIER_MACS.fullmatch(name)]
    for names, mac in ((others, {}), (earlier, {"ANYMPS_MAC": EARLIER_MAC})):
        batches = [(worker, names[i : i + BATCH]) for i in range(0, len(names), BATCH)]
        shepherd.herd(batches, jobs, limit_s, shepherd.memory_limit_gib(jobs), report, env | mac)
    return rows


def known_rows(library: Path, earlier: Path) -> list[results.Row]:
    """Of the kernels that are the same bits as an earlier release's, those that its table calls good."""
    release = results.release_of(earlier)
    if release is None:
        raise SystemExit(f"{earlier} does not say of which release it is: torch-RELEASE-N.metallib")
    now, before = (genuine_kernels.functions(path.read_bytes()) for path in (library, earlier))
    checked = results.read(results.table_of(release), resolved=False)
    return [
        results.Row(name, results.AS + release)
        for name, function in now.items()
        if name in before
        and before[name].bitcode == function.bitcode
        and name in checked
        and checked[name].verdict in results.GOOD
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    library = parser.add_mutually_exclusive_group(required=True)
    library.add_argument("library", type=Path, nargs="?", metavar="FILE.metallib")
    library.add_argument("--source", type=Path, metavar="TREE", help="compile the kernels from PyTorch's sources")
    parser.add_argument("--release", metavar="M.N", help="whose host code launches the kernels (default: 2.13's)")
    parser.add_argument(
        "--known",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE.metallib",
        help="libraries of earlier releases: a kernel of the same bits as one that was checked there is not run again",
    )
    parser.add_argument("--only", metavar="REGEX", help="kernels whose whole name matches")
    parser.add_argument("--sample", type=shepherd.slice_of, metavar="K/N", help="every Nth of them, from the Kth on")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument("--limit-s", type=float, default=60, help="seconds per kernel (default: 60)")
    parser.add_argument("--engine", metavar="NAME", help="the workers' ANYMPS_METAL_ENGINE")
    parser.add_argument("--table", type=Path, metavar="OUT", help="write one line per kernel there, sorted")
    parser.add_argument(
        "--against",
        type=Path,
        metavar="TABLE",
        help="an earlier table; exit with 1 if verdicts are worse, or outputs differ from those of such a machine",
    )
    parser.add_argument(
        "--sameness",
        type=Path,
        metavar="OUT",
        help="with --against: write for each of its kernels whether it is the same",
    )
    parser.add_argument("--worker", type=Path, default=HERE / "worker.py", help=argparse.SUPPRESS)
    options = parser.parse_args()

    before = results.read(options.against) if options.against else None
    machine = results.machine_of(options.against) if options.against else platform.machine()
    if options.sameness and machine != platform.machine():
        raise SystemExit(f"{options.against} has the outputs of {machine}: those of {platform.machine()} are others")
    env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore")
    if options.engine:
        env["ANYMPS_METAL_ENGINE"] = options.engine
    worker = [sys.executable, str(options.worker), str(options.source or options.library)]
    if release := options.release or results.release_of(options.library):
        worker += ["--release", release]

    listed = list_kernels(worker, env)
    covered = [name for name, is_covered in listed if is_covered]
    known = {}
    for earlier in reversed(options.known):  # the first has the last word
        known |= {row.kernel: row for row in known_rows(options.library, earlier)}
    chosen = [name for name in covered if not options.only or re.fullmatch(options.only, name)]
    chosen = [name for name in chosen if name not in known]
    if options.sample:
        chosen = chosen[options.sample]
    if not chosen:
        raise SystemExit("no covered kernel matches")
    rows = run(worker, chosen, options.jobs, options.limit_s, env)
    if not options.only and not options.sample:
        rows += known.values()

    for line in results.bad_by_family(rows):
        print(line)
    print("\n".join(results.summary(rows, [name for name, _ in listed])))
    if options.table:
        results.write(options.table, rows)
    if before is None:
        return 0
    if options.sameness:
        results.write_sameness(options.sameness, results.sameness(before, rows))
    worse = results.worse(before, rows)
    other = results.other_outputs(before, rows) if machine == platform.machine() else []
    for line in worse:
        print(f"worse: {line}")
    for name in other:
        print(f"other output: {name}")
    compared = sum(row.kernel in before for row in rows)
    outputs = f"{len(other)} with other outputs" if machine == platform.machine() else f"outputs are those of {machine}"
    print(f"{compared} kernels are in {options.against.name} too: {len(worse)} worse, {outputs}")
    return 1 if worse or other else 0


if __name__ == "__main__":
    sys.exit(main())
