"""What the device's queue gains: mps with ANYMPS_QUEUE=async against cpu, with as many threads in all, or on as many
cores.

    python bench/device_queue.py                  the whole table
    python bench/device_queue.py --only adds      workloads whose name contains this
    python bench/device_queue.py --threads 4      the CPU's threads (default: 2); the host's is one of mps's
    python bench/device_queue.py --same-cores     an operator of mps has as many as one of the CPU, beside the host's
    ANYMPS_QUEUE=inline python bench/device_queue.py    the same without the queue, to see what it is that gains

Each round times both sides once, in random order, up to a final synchronisation. The figure is the median of the
rounds' ratios with its paired-bootstrap 95% interval; one that spans the target is undecided.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
import random
import sys
import time
from collections.abc import Callable

os.environ.setdefault("ANYMPS_QUEUE", "async")  # read when torch is imported
import numpy
import pairs
import rounds
import stats
import torch

ROUNDS = 40
ROUND_S = 0.03  # how long one side of one round should take
OPERATORS, STEPS, CHAINS, OVERLAP = 0.9, 1.0, 0.25, 0.65
OPERATOR_CALLS = 200


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    target: float
    make: Callable[[str], Callable[[], object]]  # device -> one call of the work, without a synchronisation


def rows() -> list[Row]:
    targets = {pairs.OPERATOR: OPERATORS, pairs.STEP: STEPS, pairs.SMALL_STEP: STEPS}
    found = [Row(w.name, targets[w.kind], w.make) for w in pairs.WORKLOADS if w.kind in targets]
    for mebibytes in (16, 32):
        found.append(Row(f"8 adds of {mebibytes} MiB", CHAINS, lambda device, m=mebibytes: additions(device, m)))
    return [*found, Row("data made meanwhile", OVERLAP, data_made_meanwhile)]


def additions(device: str, mebibytes: int):
    """Eight additions, each to the last one's result, which nobody keeps."""
    x = torch.randn(mebibytes << 18).to(device)

    def chain():
        total = x
        for _ in range(8):
            total = total + x
        return total

    return chain


@functools.cache
def seconds_of_a_step() -> float:
    """The CPU's, with as many threads as there are when this is first called: the same for both sides."""
    step = pairs.cnn("cpu", batch=16, size=32)
    return sorted(rounds.time_calls(step, 1) for _ in range(15))[7]


def data_made_meanwhile(device: str):
    """A training step, and the next batch made by NumPy for about as long, on one thread."""
    step = pairs.cnn(device, batch=16, size=32)
    rng = numpy.random.default_rng(0)
    image = rng.standard_normal((16, 3, 32, 32), dtype=numpy.float32)

    def made(seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            numpy.flip(image, 3).copy().clip(-2, 2)

    length = seconds_of_a_step()

    def work():
        step()
        made(length)

    return work


def timed(work, calls: int, device: str, threads: dict[str, int]) -> float:
    torch.set_num_threads(threads[device])
    synchronise = torch.mps.synchronize if device == "mps" else lambda: None
    work()  # the other side's threads may still spin
    synchronise()
    began = time.perf_counter()
    for _ in range(calls):
        work()
    synchronise()
    return (time.perf_counter() - began) / calls


def measure(row: Row, count: int, threads: dict[str, int], rng: random.Random) -> dict:
    work = {}
    for device in ("cpu", "mps"):
        torch.set_num_threads(threads[device])
        work[device] = row.make(device)
    for device in work:
        for _ in range(3):  # the queue takes what it has seen once
            timed(work[device], 1, device, threads)
    once = min(timed(work["cpu"], 3, "cpu", threads) for _ in range(3))
    calls = OPERATOR_CALLS if row.target == OPERATORS else max(1, round(ROUND_S / once))
    times: dict[str, list[float]] = {device: [] for device in work}
    for _ in range(count):
        for device in rng.sample(sorted(work), 2):
            times[device].append(timed(work[device], calls, device, threads))
    ratio = stats.paired_ratio(times["mps"], times["cpu"])
    middle = {f"{device}_us": 1e6 * sorted(times[device])[count // 2] for device in times}
    return {"name": row.name, "target": row.target, **middle, **dataclasses.asdict(ratio)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="workloads whose name contains this")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds per workload (default: {ROUNDS})")
    parser.add_argument("--threads", type=int, default=2, help="of the CPU's side (default: 2)")
    parser.add_argument("--same-cores", action="store_true", help="as many for an operator of mps, beside the host's")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    options = parser.parse_args()
    if options.threads < 2:
        parser.error("--threads is at least 2: the host's and the device's")
    chosen = [row for row in rows() if options.only in row.name]
    if not chosen:
        parser.error(f"no workload's name contains {options.only!r}")
    threads = {"cpu": options.threads, "mps": options.threads - (0 if options.same_cores else 1)}
    rng, found = random.Random(0), []
    if not options.json:
        print(f"{'':20} {'mps, µs':>11} {'cpu, µs':>11}   ratio  95% interval    target")
    for row in chosen:
        found.append(measure(row, options.rounds, threads, rng))
        if options.json:
            continue
        one = found[-1]
        verdict = stats.verdict(stats.Ratio(one["median"], one["low"], one["high"]), row.target)
        said = "of the mean" if row.target == OPERATORS else f"<= {row.target:.2f}  {verdict}"
        print(
            f"{row.name:20} {one['mps_us']:11.2f} {one['cpu_us']:11.2f}   {one['median']:5.3f}  "
            f"[{one['low']:.3f}, {one['high']:.3f}]  {said}",
            flush=True,
        )
    operators = [stats.Ratio(x["median"], x["low"], x["high"]) for x in found if x["target"] == OPERATORS]
    mean = stats.geomean(operators) if operators else None
    if options.json:
        print(json.dumps({"workloads": found, "operators_geomean": mean}, indent=1))
    elif mean is not None:
        said = "met" if mean <= OPERATORS else "missed"
        print(f"{'operators, geomean':20} {'':11} {'':11}   {mean:5.3f}  {'':14}  <= {OPERATORS:.2f}  {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
