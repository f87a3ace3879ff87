"""How long functions that torch.compile made for mps take, against Inductor's C++ back end on the CPU, in one run.

    python bench/compiled.py                  all workloads (compiled_workloads.py), forward, in three sizes
    python bench/compiled.py --only softmax   those whose name contains this
    python bench/compiled.py --rounds 60      narrower intervals
    python bench/compiled.py --threads 2      with that many threads on both sides (default: 1)

A figure is mps's time over C++'s: below 1 is faster. It is the median of interleaved rounds with its paired-bootstrap
95% interval. With one thread the clock is that of the process, which stands still while others use the processor; with
more it is the wall's. Both sides are compiled and run for a while before anything is timed, so that kernels have been
compiled for what they are launched with, and their results are compared: what differs is named, is not timed, and makes
the exit status 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import statistics
import sys
import time

import stats
import torch
from compiled_workloads import WORKLOADS, Workload
from rounds import calls_per_round, interleaved

ROUND_S = 0.01
WARM_S = 0.6  # of work before the first round
SETTLE_S = 0.3  # in which what is compiled in the background is compiled
TARGET_MEAN, TARGET_EACH = 1.3, 3.0


def side(workload: Workload, device: str):
    torch.manual_seed(0)
    function, inputs = workload.make()
    if isinstance(function, torch.nn.Module):
        function = function.to(device)
    compiled = torch.compile(function, dynamic=False)
    inputs = [tensor.to(device) for tensor in inputs]
    return lambda: compiled(*inputs)


def warm(work, clock) -> None:
    for _ in range(3):
        began = clock()
        while clock() - began < WARM_S / 3:
            work()
        time.sleep(SETTLE_S / 3)


def disagreement(work: dict) -> str:
    results = {device: one().cpu() for device, one in work.items()}
    try:
        torch.testing.assert_close(results["mps"], results["cpu"], rtol=1e-3, atol=1e-4)
    except AssertionError as error:
        return str(error)
    return ""


def measure(work: dict, rounds: int, rng: random.Random, clock) -> dict:
    for one in work.values():
        warm(one, clock)
    calls = {device: calls_per_round(one, ROUND_S, clock) for device, one in work.items()}
    times = interleaved(work, calls, rounds, rng, clock)
    return {
        **{f"{device}_us": 1e6 * statistics.median(times[device]) for device in times},
        **dataclasses.asdict(stats.paired_ratio(times["mps"], times["cpu"])),
        "ratios": [a / b for a, b in zip(times["mps"], times["cpu"], strict=True)],
    }


def ratio_of(row: dict) -> stats.Ratio:
    return stats.Ratio(row["median"], row["low"], row["high"])


def line(row: dict) -> str:
    said = {"met": "", "missed": f"over {TARGET_EACH:g}", "undecided": f"around {TARGET_EACH:g}"}
    return (
        f"{row['name']:32} {row['mps_us']:10.1f} {row['cpu_us']:10.1f}  {row['median']:6.3f} "
        f"[{row['low']:.3f}, {row['high']:.3f}]  {said[stats.verdict(ratio_of(row), TARGET_EACH)]}"
    ).rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="NAME", help="workloads whose name contains this")
    parser.add_argument("--rounds", type=int, default=30, metavar="N")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="on both sides")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    options = parser.parse_args()
    chosen = [workload for workload in WORKLOADS if options.only.lower() in workload.name.lower()]
    if not chosen:
        parser.error(f"no workload's name contains {options.only!r}")
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    rng, rows, wrong = random.Random(0), [], []
    if not options.json:
        print(f"{'':32} {'mps, µs':>10} {'C++, µs':>10}  {'ratio [95% interval]'}")
    with torch.no_grad():
        for workload in chosen:
            torch.compiler.reset()
            work = {device: side(workload, device) for device in ("mps", "cpu")}
            if problem := disagreement(work):
                wrong.append(f"{workload.name}: {problem}")
                print(f"wrong: {wrong[-1]}", file=sys.stderr)
                continue
            rows.append({"name": workload.name, **measure(work, options.rounds, rng, clock)})
            if not options.json:
                print(line(rows[-1]), flush=True)
    mean = stats.geomean_ratio([row["ratios"] for row in rows]) if rows else None
    if options.json:
        facts = {"threads": options.threads, "rounds": options.rounds, "target": [TARGET_MEAN, TARGET_EACH]}
        means = dataclasses.asdict(mean) if mean else None
        print(json.dumps({**facts, "workloads": rows, "geomean": means, "wrong": wrong}, indent=1))
    elif mean:
        print(
            f"{'geometric mean':32} {'':10} {'':10}  {mean.median:6.3f} [{mean.low:.3f}, {mean.high:.3f}]  "
            f"target: at most {TARGET_MEAN:g}: {stats.verdict(mean, TARGET_MEAN)}"
        )
        over = [row["name"] for row in rows if stats.verdict(ratio_of(row), TARGET_EACH) != "met"]
        print(f"not below {TARGET_EACH:g}: {'; '.join(over) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
