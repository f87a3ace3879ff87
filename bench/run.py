"""How long mps takes against cpu, on this machine, in one run.

    python bench/run.py                  the whole table
    python bench/run.py --only view      workloads whose name contains this
    python bench/run.py --rounds 400     a narrower interval
    python bench/run.py --json           for machines

Each round times both devices once, in random order, so that a slow moment of the machine hits both. The figure is the
median of the rounds' ratios with its paired-bootstrap 95% interval; one that spans the target is undecided.
One thread: more would measure the machine's neighbours.
What depends on malloc's own cache (wide CNN, 8 adds) differs from process to process, so those rounds are spread over
several processes, and the interval is over processes.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys

import stats
import torch
from pairs import MEMORY, OPERATOR, SMALL_STEP, STEP, WORKLOADS, Workload
from rounds import calls_per_round, interleaved

TARGET = {
    OPERATOR: 1.40,
    STEP: 1.03,
    SMALL_STEP: 1.03,
    MEMORY: 0.65,
}  # operators: of the geometric mean; training steps: of each
ROUNDS = {OPERATOR: 200, STEP: 60, SMALL_STEP: 60, MEMORY: 10}
PROCESSES = 8  # for what differs from process to process
ROUND_S = {OPERATOR: 0.002, STEP: 0.02, SMALL_STEP: 0.02, MEMORY: 0.02}  # how long one side of one round should take


def measure(workload: Workload, rounds: int, rng: random.Random) -> dict:
    work = {device: workload.make(device) for device in ("mps", "cpu")}
    calls = calls_per_round(work["cpu"], ROUND_S[workload.kind])
    calls_per_round(work["mps"], ROUND_S[workload.kind])
    times = interleaved(work, dict.fromkeys(work, calls), rounds, rng)
    ratio = stats.paired_ratio(times["mps"], times["cpu"])
    return {
        "name": workload.name,
        "kind": workload.kind,
        "mps_us": 1e6 * sorted(times["mps"])[rounds // 2],
        "cpu_us": 1e6 * sorted(times["cpu"])[rounds // 2],
        "ratio": ratio.median,
        "low": ratio.low,
        "high": ratio.high,
        "ratios": [a / b for a, b in zip(times["mps"], times["cpu"], strict=True)],
        "rounds": rounds,
        "calls": calls,
    }


def measure_in_processes(workload: Workload, rounds: int, seed: int) -> dict:
    rows = []
    for number in range(PROCESSES):
        command = [sys.executable, __file__, "--json", "--here", "--only", workload.name, "--seed", str(seed + number)]
        done = subprocess.run([*command, "--rounds", str(rounds)], capture_output=True, text=True, check=True)
        rows.extend(json.loads(done.stdout)["workloads"])
    ratio = stats.grouped_ratio([row["ratios"] for row in rows], seed)
    middle = sorted(rows, key=lambda row: row["ratio"])[len(rows) // 2]
    each = [round(row["ratio"], 3) for row in rows]
    return {**middle, "ratio": ratio.median, "low": ratio.low, "high": ratio.high, "by_process": each}


def print_row(row: dict) -> None:
    target = ""
    if row["kind"] != OPERATOR:
        goal = TARGET[row["kind"]]
        target = f"<= {goal:.2f}  {stats.verdict(stats.Ratio(row['ratio'], row['low'], row['high']), goal)}"
    print(
        f"{row['name']:18} {row['mps_us']:11.2f} {row['cpu_us']:11.2f}   {row['ratio']:5.3f}  "
        f"[{row['low']:.3f}, {row['high']:.3f}]  {target}",
        flush=True,
    )
    if "by_process" in row:
        print(f"{'':18} by process: {' '.join(f'{r:.2f}' for r in sorted(row['by_process']))}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="workloads whose name contains this")
    parser.add_argument("--rounds", type=int, help="rounds per workload (default: 200 for operators, 60 for steps)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    parser.add_argument("--here", action="store_true", help="measure everything in this one process")
    parser.add_argument("--seed", type=int, default=0, help="of the order within rounds")
    options = parser.parse_args()
    if not torch.backends.mps.is_available():
        parser.error("torch.backends.mps.is_available() is False: is anymps installed here, and ANYMPS not 0?")
    chosen = [w for w in WORKLOADS if options.only in w.name]
    if not chosen:
        parser.error(f"no workload's name contains {options.only!r}; there are: {', '.join(w.name for w in WORKLOADS)}")

    torch.set_num_threads(1)
    rng, rows = random.Random(options.seed), []
    if not options.json:
        print(f"{'':18} {'mps, µs':>11} {'cpu, µs':>11}   ratio  95% interval    target")
    for workload in chosen:
        rounds = options.rounds or ROUNDS[workload.kind]
        if workload.kind == MEMORY and not options.here:
            rows.append(measure_in_processes(workload, rounds, options.seed))
        else:
            rows.append(measure(workload, rounds, rng))
        if not options.json:
            print_row(rows[-1])

    operators = [stats.Ratio(r["ratio"], r["low"], r["high"]) for r in rows if r["kind"] == OPERATOR]
    mean = stats.geomean(operators) if operators else None
    if options.json:
        print(json.dumps({"workloads": rows, "operators_geomean": mean, "targets": TARGET}, indent=1))
    elif mean:
        said = "met" if mean <= TARGET[OPERATOR] else "missed"
        print(f"{'operators, geomean':18} {'':11} {'':11}   {mean:5.3f}  {'':14}  "
              f"<= {TARGET[OPERATOR]:.2f}  {said}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
