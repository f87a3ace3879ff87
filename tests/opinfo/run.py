"""Holds every operator of PyTorch's OpInfo database on mps against the CPU: values, gradients, and errors.

    python tests/opinfo/run.py                              everything
    python tests/opinfo/run.py --ops 'nn.functional.*'      operators whose name matches entirely
    python tests/opinfo/run.py --ops add --dtype float16
    python tests/opinfo/run.py --jobs 2 --table now.tsv --against tests/opinfo/outcomes-2.13.tsv
    python tests/opinfo/run.py --compiled 3 --slice 1/10    float32 by torch.compile, three samples of each, a tenth

A pair is (operator, variant, dtype, direction). Its outcome is one of

    agree                   same values as the CPU (to the bit, or within PyTorch's tolerance)
    refused-as-expected     PyTorch expects a Mac to fail here, and it raised
    unexpected-pass         PyTorch expects a Mac to refuse, and it computed: a mismatch
    expected-wrong-number   PyTorch expects a Mac to give another number (see expectations.py for how that is told)
    disagree, error         other values than the CPU; an exception where a Mac has none
    crash, timeout, memory  the worker process died, hung, or grew too large
    skipped                 by PyTorch's lists, or nothing to compare; with the reason

Pairs run in worker processes: a crash is the outcome of one pair, and the next one gets a fresh process.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))

import classify  # noqa: E402 - the shepherd lives next door
import shepherd  # noqa: E402
import table  # noqa: E402
from expectations import Pair, match  # noqa: E402

WORKER = [sys.executable, str(HERE / "worker.py")]
BATCH = 400


def list_pairs(env: dict[str, str]) -> list[Pair]:
    done = subprocess.run([*WORKER, "--list"], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-3000:])
    listing = json.loads(done.stdout.splitlines()[-1])
    for line in listing["stale"]:
        print(f"wrong_numbers.tsv: '{line}' belongs to no expected failure of this PyTorch", file=sys.stderr)
    return [Pair.from_id(text) for text in listing["pairs"]]


def run(options) -> list[table.Row]:
    env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONWARNINGS="ignore")
    pairs = match(list_pairs(env), options.ops, options.dtype)
    if options.compiled:
        # Graphs that were made with another build of the device must not come back from Inductor's cache.
        env["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
        pairs = [pair for pair in pairs if pair.dtype == "float32"]
    if options.slice:
        pairs = pairs[options.slice]
    if not pairs:
        raise SystemExit("no pair matches")
    worker = [*WORKER, "--compiled", str(options.compiled)]
    # Neighbours in one batch: operators that share inputs stay warm. One batch per process keeps a leak from growing.
    batches = [(worker, [p.id for p in pairs[i : i + BATCH]]) for i in range(0, len(pairs), BATCH)]
    rows, began = [], time.monotonic()

    def report(item: str, answer: dict) -> None:
        row = table.Row(Pair.from_id(item), answer["outcome"], answer.get("how", ""), answer["detail"])
        rows.append(row)
        if answer["seconds"] > 10:
            print(f"slow: {row.pair.id.replace(chr(9), ' ')} took {answer['seconds']:.0f} s", flush=True)
        if len(rows) % 500 == 0:
            print(f"... {len(rows)} of {len(pairs)}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    shepherd.herd(batches, options.jobs, options.limit_s, shepherd.memory_limit_gib(options.jobs), report, env)
    return rows


def print_bad(rows: list[table.Row]) -> None:
    """By outcome and message, most frequent first."""
    groups = collections.defaultdict(list)
    for row in rows:
        if row.outcome in classify.BAD:
            groups[row.outcome, table.gist(row.detail)].append(row)
    for (outcome, _), members in sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]))):
        print(f"\n{len(members)} x {outcome}: {members[0].detail}")
        print("    " + ", ".join(table.short_names(members)))


def print_summary(rows: list[table.Row]) -> None:
    counts = collections.Counter(row.outcome for row in rows)
    print("\n" + ", ".join(f"{name} {count}" for name, count in counts.most_common()))
    how = collections.Counter(row.how for row in rows if row.outcome == classify.AGREE)
    print(f"of the agreeing: {how['same']} to the bit, {how['close']} within tolerance, {how['random']} random")
    good, counted = table.agreement(rows)
    if counted:
        print(f"agree {good} of {counted} ({100 * good / counted:.2f}%)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", metavar="REGEX", help="operators: the whole name, or name.variant")
    parser.add_argument("--dtype", help="one dtype, such as float16; '-' for error inputs")
    parser.add_argument("--compiled", type=int, default=0, metavar="N", help="by torch.compile, N samples of each pair")
    parser.add_argument("--slice", type=shepherd.slice_of, metavar="K/N", help="only every Nth pair, from the Kth on")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument("--limit-s", type=float, default=60, help="seconds per pair (default: 60)")
    parser.add_argument("--table", type=Path, metavar="OUT", help="write one line per pair there, sorted")
    parser.add_argument("--detail", action="store_true", help="with the messages of bad outcomes in the table")
    parser.add_argument(
        "--against", type=Path, metavar="TABLE", help="an earlier table; exit with 1 if a pair got worse"
    )
    options = parser.parse_args()

    before = table.read(options.against) if options.against else None
    rows = run(options)
    print_bad(rows)
    print_summary(rows)
    if options.table:
        table.write(options.table, rows, options.detail)
    if before is None:
        return 0
    worse = table.worse(before, rows)
    for line in worse:
        print(f"worse: {line}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
