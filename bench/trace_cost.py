"""What `anymps trace`, `anymps check` and the runbook's recorder cost a training step: with against without.

    python bench/trace_cost.py                  the table, of `anymps trace`
    python bench/trace_cost.py --check          the table, of `anymps check`
    python bench/trace_cost.py --lab            the table, of the recorder of anymps sweep and the like
    python bench/trace_cost.py --lab-lines      ... where it notes the source line of each step
    python bench/trace_cost.py --only CNN       workloads whose name contains this
    python bench/trace_cost.py --rounds 60      a narrower interval
    python bench/trace_cost.py --instructions   counts instead of times, under valgrind; some minutes

Traced is what `anymps trace` sets: every operator, kernel and wait is written to a file; or what `anymps check` sets:
every operator and copy is looked at; or what the runbook's commands set: each step is written down. Untraced is a
process without any of it. Tracing lasts as long as a process, so a pair is two processes that take turns: each round
has each of them take some steps, in random order. The figure is the median of the rounds' ratios, the interval a
bootstrap over pairs of processes. Times are processor time, one thread.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import instructions
import stats

HERE = Path(__file__).resolve().parent
TARGETS = {"trace": 1.03, "check": 1.10, "lab": 1.03, "lab-lines": 1.10}
PAIRS = 8
ROUNDS = 12  # of each pair of processes
ROUND_S = 0.1  # how long one side of one round should take
STEPS_COUNTED = (3, 13)  # under valgrind
RECORDS_WRITTEN_AT = 112  # in the trace's header (docs/trace.md)

# Answers each line, a number of steps, with the seconds that a step took.
CHILD = """
import sys, time
sys.path.insert(0, sys.argv[1])
import torch
import pairs, rounds
torch.set_num_threads(1)
step = next(w for w in pairs.WORKLOADS if w.name == sys.argv[2]).make("mps")
print(rounds.calls_per_round(step, float(sys.argv[3]), time.process_time), flush=True)
for line in sys.stdin:
    print(rounds.time_calls(step, int(line), time.process_time), flush=True)
"""


def traced_into(folder: str, verb: str) -> dict[str, str]:
    """What the verb adds to the environment."""
    own = {
        "trace": {"ANYMPS_TRACE_CALLS": "1", "ANYMPS_TRACE_EVENTS": str(2**20)},
        "check": {"ANYMPS_CHECK": "1", "ANYMPS_TRACE_EVENTS": str(2**17)},
        "lab": {"ANYMPS_LAB": folder},
        "lab-lines": {"ANYMPS_LAB": folder, "ANYMPS_LAB_SPEC": '{"lines": true}'},
    }
    return {"ANYMPS_RUN": folder, "ANYMPS_REQUIRED": "1", **own[verb]}


def events_in(folder: str, verb: str) -> int:
    """So that nothing is measured of a device that traces nothing."""
    if verb.startswith("lab"):
        return sum(len(file.read_bytes().splitlines()) for file in Path(folder).glob("*.jsonl"))
    files = list(Path(folder).glob("*.amt"))
    if not files:
        raise SystemExit("the traced process left no trace")
    with files[0].open("rb") as file:
        return struct.unpack_from("<Q", file.read(RECORDS_WRITTEN_AT + 8), RECORDS_WRITTEN_AT)[0]


class Side:
    """A process that takes steps when it is told."""

    def __init__(self, workload: str, environment: dict[str, str]):
        self.child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(HERE), workload, str(ROUND_S)],
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.steps_of_a_round = int(self._answer())

    def seconds_a_step(self, steps: int) -> float:
        self.child.stdin.write(f"{steps}\n")
        self.child.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        self.child.stdin.close()
        self.child.wait()

    def _answer(self) -> str:
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit("a measured process has ended early; what it said is above")
        return line


def measure(workload: str, verb: str, pairs_of_processes: int, rounds: int, rng: random.Random) -> dict:
    groups: list[list[float]] = []
    milliseconds: dict[str, list[float]] = {"traced": [], "untraced": []}
    for _ in range(pairs_of_processes):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
            sides = {}
            for name, environment in (("untraced", {}), ("traced", traced_into(folder, verb))):
                sides[name] = Side(workload, environment)
                running.callback(sides[name].close)
            steps = sides["untraced"].steps_of_a_round
            ratios = []
            before = events_in(folder, verb)
            for _ in range(rounds):
                seconds = {name: sides[name].seconds_a_step(steps) for name in rng.sample(sorted(sides), 2)}
                ratios.append(seconds["traced"] / seconds["untraced"])
                for name, value in seconds.items():
                    milliseconds[name].append(1e3 * value)
            groups.append(ratios)
            events = (events_in(folder, verb) - before) / (steps * rounds)
    ratio = stats.grouped_ratio(groups)
    return {
        "name": workload,
        "events": events,
        **{f"{name}_ms": statistics.median(values) for name, values in milliseconds.items()},
        "ratio": ratio.median,
        "low": ratio.low,
        "high": ratio.high,
        "by_pair": [round(statistics.median(group), 4) for group in groups],
        "target": TARGETS[verb],
        "verdict": stats.verdict(ratio, TARGETS[verb]),
    }


def count(workloads: list[str], verb: str) -> list[dict]:
    untraced = instructions.count(workloads, "mps", STEPS_COUNTED)
    with tempfile.TemporaryDirectory() as folder:
        traced = instructions.count(workloads, "mps", STEPS_COUNTED, traced_into(folder, verb))
    return [
        {"name": name, "traced": traced[name], "untraced": untraced[name], "ratio": traced[name] / untraced[name]}
        for name in workloads
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", dest="verb", action="store_const", const="check", default="trace", help="of `anymps check`"
    )
    for verb in ("lab", "lab-lines"):
        parser.add_argument(
            f"--{verb}", dest="verb", action="store_const", const=verb, help="of the runbook's recorder"
        )
    parser.add_argument("--only", default="", metavar="TEXT", help="workloads whose name contains this")
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"pairs of processes (default: {PAIRS})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds of a pair (default: {ROUNDS})")
    parser.add_argument("--instructions", action="store_true", help="count instructions instead of timing")
    parser.add_argument("--json", action="store_true", help="print one JSON list instead of the table")
    options = parser.parse_args()
    from pairs import SMALL_STEP, STEP, WORKLOADS

    names = [w.name for w in WORKLOADS if w.kind in (STEP, SMALL_STEP) and options.only in w.name]
    if not names:
        parser.error(f"no training step's name contains {options.only!r}")
    if options.instructions:
        instructions.need_valgrind(parser)
        rows = count(names, options.verb)
        if not options.json:
            for row in rows:
                print(f"{row['name']:18} traced {row['traced']:13,.0f}   untraced {row['untraced']:13,.0f}   "
                      f"ratio {row['ratio']:.4f}")  # fmt: skip
    else:
        rng, rows = random.Random(0), []
        if not options.json:
            print(f"{'':18} {'events':>6} {'traced, ms':>11} {'untraced, ms':>13}   ratio  95% interval    target")
        for name in names:
            rows.append(measure(name, options.verb, options.pairs, options.rounds, rng))
            row = rows[-1]
            if not options.json:
                print(f"{name:18} {row['events']:6.0f} "
                      f"{row['traced_ms']:11.2f} {row['untraced_ms']:13.2f}   {row['ratio']:.3f}  "
                      f"[{row['low']:.3f}, {row['high']:.3f}]  <= {row['target']}  {row['verdict']}",
                      flush=True)  # fmt: skip
    if options.json:
        print(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
