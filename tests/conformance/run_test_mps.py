"""Runs PyTorch's own test_mps.py (given by path, never part of this repository) and says how each test ended.

    python tests/conformance/run_test_mps.py ~/pytorch/test/test_mps.py                    all, one class after another
    python tests/conformance/run_test_mps.py FILE --class TestMPS --class TestSDPA         two classes
    python tests/conformance/run_test_mps.py FILE --tests 'conv.*float16'                  by name
    python tests/conformance/run_test_mps.py FILE --table now.tsv --against before.tsv     what changed; 1 if worse
    python tests/conformance/run_test_mps.py FILE --slice 3/10                             every tenth test, for CI
    python tests/conformance/run_test_mps.py ~/pytorch/test/profiler/test_profiler.py --allow-mps   device-generic tests

Take the file from the release that is installed: for 2.13.0, test/test_mps.py of PyTorch's tag v2.13.0.
Each class runs in processes of its own; a crash or a hang ends one test, and a fresh process goes on with the next.
'Ends as on a Mac' means: as the file's own decorators say for macOS 26. Tests that ask for the shader compiler are
counted apart, and so are those where PyTorch expects a Mac to give a wrong number and the right one came out.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import outcomes
import shepherd

HERE = Path(__file__).resolve().parent
WORKER = HERE / "worker.py"
BATCH = 400  # tests per process: large classes are split so that jobs share them
OUTCOME_COLUMNS = (
    "passed",
    "expected-failure",
    "skipped",
    outcomes.RIGHT_WHERE_A_MAC_IS_WRONG,
    *outcomes.BAD,
)


def worker(options, *words: str) -> list[str]:
    return [sys.executable, str(WORKER), str(options.file), *words, *(["--allow-mps"] if options.allow_mps else [])]


def list_tests(options, env: dict[str, str]) -> tuple[dict[str, list[str]], set[str]]:
    """(The tests of each class, and those that want a process without others)."""
    done = subprocess.run(worker(options, "--list"), env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"cannot load {options.file}:\n{done.stderr[-3000:]}")
    listing = json.loads(done.stdout.splitlines()[-1])
    return listing["tests"], set(listing["serial"])


def select(listing: dict[str, list[str]], options) -> dict[str, list[str]]:
    unknown = [name for name in options.classes if name not in listing]
    if unknown:
        raise SystemExit(f"no class {', '.join(unknown)} in {options.file}; it has: {', '.join(listing)}")
    chosen = {c: tests for c, tests in listing.items() if not options.classes or c in options.classes}
    if options.tests:
        pattern = re.compile(options.tests)
        chosen = {c: [t for t in tests if pattern.search(f"{c}.{t}")] for c, tests in chosen.items()}
    if options.slice:
        flat = [(c, t) for c, tests in chosen.items() for t in tests][options.slice]
        chosen = {c: [t for d, t in flat if d == c] for c in chosen}
    return {c: tests for c, tests in chosen.items() if tests}


def batches(options, chosen: dict[str, list[str]], serial: set[str]):
    for test_class, tests in chosen.items():
        items = [f"{test_class}.{test}" for test in tests]
        command = worker(options, test_class)
        alone = [item for item in items if item in serial]
        others = [item for item in items if item not in serial]
        for i in range(0, len(others), BATCH):
            yield command, others[i : i + BATCH]
        if alone:
            yield command, alone


def run(options) -> list[outcomes.Outcome]:
    env = dict(os.environ, OMP_NUM_THREADS="1")  # warnings stay as they are: tests count them
    listing, serial = list_tests(options, env)
    chosen = select(listing, options)
    total, found, began = sum(map(len, chosen.values())), [], time.monotonic()

    def report(test: str, answer: dict) -> None:
        needs = "shader" if answer.get("shader") else ""
        o = outcomes.Outcome(test, answer["outcome"], needs, answer["detail"].replace("\t", " "))
        found.append(o)
        if answer.get("seconds", 0) > options.limit_s / 4:
            print(f"slow: {test} took {answer['seconds']:.0f} s", flush=True)
        if len(found) % 200 == 0:
            print(f"... {len(found)} of {total}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            if options.table:  # a run that is stopped leaves what it found
                outcomes.write(options.table, found, not options.no_detail)

    shepherd.herd(batches(options, chosen, serial), options.jobs, options.limit_s, options.limit_gib, report, env)
    return found


def print_causes(found: list[outcomes.Outcome]) -> None:
    """Bad outcomes grouped by what they say, most frequent first: one fix usually mends a group."""
    groups = collections.defaultdict(list)
    for o in found:
        if not o.good and o.needs != "shader":
            groups[o.outcome, re.sub(r"\d+", "#", o.detail)[:160]].append(o)
    for (outcome, _), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(members)} x {outcome}: {members[0].detail}")
        names = [o.test for o in members]
        print("    " + ", ".join(names[:8]) + (f", and {len(names) - 8} more" if len(names) > 8 else ""))


def print_table(found: list[outcomes.Outcome]) -> None:
    per_class = collections.defaultdict(collections.Counter)
    shader = collections.Counter()
    for o in found:
        if o.needs == "shader":
            shader[o.outcome] += 1
        else:
            per_class[o.test.split(".")[0]][o.outcome] += 1
    columns = [c for c in OUTCOME_COLUMNS if any(counts[c] for counts in per_class.values())]
    width = max([len(c) for c in per_class] + [5])
    print(f"\n{'class':{width}}  " + "  ".join(columns))
    for test_class, counts in per_class.items():
        print(f"{test_class:{width}}  " + "  ".join(f"{counts[c]:{len(c)}}" for c in columns))
    if shader:
        print(f"needs the shader compiler (not counted in the last line): {dict(shader)}")
        print_share([o for o in found if o.needs == "shader"], "of those ")
    for reason, count in collections.Counter(o.detail for o in found if o.outcome == "skipped").most_common():
        print(f"skipped {count}: {reason}")
    print_share([o for o in found if o.needs != "shader"])


def print_share(found: list[outcomes.Outcome], which: str = "") -> None:
    right = sum(o.outcome == outcomes.RIGHT_WHERE_A_MAC_IS_WRONG for o in found)
    counted = [o for o in found if o.outcome != outcomes.RIGHT_WHERE_A_MAC_IS_WRONG]
    good = sum(o.good for o in counted)
    if counted:
        print(
            f"{which}{good} of {len(counted)} tests ({100 * good / len(counted):.2f}%) end as on a Mac; "
            f"{right} more are right where PyTorch expects a Mac to be wrong"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="test_mps.py of the installed release, or any unittest file")
    parser.add_argument("--class", dest="classes", action="append", default=[], metavar="NAME", help="only this class")
    parser.add_argument("--tests", metavar="REGEX", help="only tests whose Class.method matches")
    parser.add_argument(
        "--allow-mps", action="store_true", help="make device-generic classes for mps too, where the file does not"
    )
    parser.add_argument("--slice", type=shepherd.slice_of, metavar="K/N", help="only every Nth test, from the Kth on")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument("--limit-s", type=float, default=60, help="seconds per test (default: 60)")
    parser.add_argument(
        "--limit-gib", type=float, help="memory per process (default: two thirds of the machine's, shared)"
    )
    parser.add_argument("--table", type=Path, metavar="OUT", help="write the outcomes there, by test name")
    parser.add_argument(
        "--no-detail", action="store_true", help="leave messages out of the table, as the committed one does"
    )
    parser.add_argument("--against", type=Path, metavar="OUTCOMES", help="print what changed; exit with 1 if worse")
    parser.add_argument("--quiet", action="store_true", help="print the table only, not the bad outcomes by cause")
    options = parser.parse_args()
    if not options.file.is_file():
        parser.error(f"{options.file} is not a file")
    options.limit_gib = options.limit_gib or shepherd.memory_limit_gib(options.jobs)

    before = outcomes.read(options.against) if options.against else None  # a wrong path should not cost a run
    found = run(options)
    if not options.quiet:
        print_causes(found)
    print_table(found)
    if options.table:
        outcomes.write(options.table, found, not options.no_detail)
    if before is None:
        return 0
    worse, changed = outcomes.compare(before, found)
    for line in changed:
        print(f"changed: {line}")
    for line in worse:
        print(f"worse: {line}")
    print(f"{len(worse)} worse, {len(changed)} otherwise changed")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
