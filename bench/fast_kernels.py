"""How fast Metal kernels are on our engine, against hand-written C++ for the same work and against PoCL, in one run.

    python bench/fast_kernels.py                   all twenty kernels, and the bandwidth of a copy
    python bench/fast_kernels.py --only norm       those whose name contains this
    python bench/fast_kernels.py --rounds 100      narrower intervals
    python bench/fast_kernels.py --threads 2       with that many threads on every side (default: 1)

A figure is the other side's time over ours: 1 is as fast, 0.5 half as fast, 2 twice as fast. It is the median of
interleaved rounds with its paired-bootstrap 95% interval; the times beside it are the best round's. With one thread
the clock is that of the process, which stands still while others use the processor; with more it is the wall's. The
kernels are compiled from the start for what they are launched with, as they would be after a while;
ANYMPS_METAL_ENGINE=simd measures them without that, oracle without vectors of lanes.

The sources lie in bench/fast_kernels/: metal/*.metal as one would write them for a GPU, baseline.cpp as one would write
the same for a CPU (g++ -O3 -march=native -ffast-math -fopenmp-simd), opencl/*.cl with the algorithms of the Metal
kernels; OpenCL C 1.2 has no simdgroups, so sums over lanes go through local memory there. All results are compared with
the baseline's before anything is timed: a wrong one is named, is not timed, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import sys
import time

import stats
import torch
from fast_kernels import dense, linear, opencl, rows, sides, simulation, sorting
from fast_kernels.case import Case, disagreement
from rounds import calls_per_round, interleaved

ROUND_S = 0.004
TARGET = 0.85  # of the hand-written C++'s speed


def cases(only: str) -> list[Case]:
    makers = (dense.copy, *dense.CASES, *rows.CASES, *sorting.CASES, *linear.CASES, *simulation.CASES)
    return [case for make in makers if only.lower() in (case := make()).name.lower()]


def checked_sides(case: Case, library, pocl: opencl.Pocl | None) -> tuple[dict, list[str]]:
    """The sides (callable, data) that give the baseline's results, and what is wrong with the others."""
    good, wrong = {"baseline": sides.baseline(case, library)}, []
    good["baseline"][0]()
    expected = good["baseline"][1]
    makers = {"ours": lambda: sides.metal(case), "pocl": lambda: pocl.side(case) if pocl else None}
    for side, make in makers.items():
        try:
            made = make()
            if made is None:
                continue
            made[0]()
            problem = disagreement(case, made[1], expected)
        except (RuntimeError, SyntaxError) as error:
            problem = str(error)
        if problem:
            wrong.append(f"{case.name}, {side}: {problem}")
        else:
            good[side] = made
    return good, wrong


def measure(case: Case, good: dict, rounds: int, rng: random.Random, clock) -> dict:
    work = {side: made[0] for side, made in good.items()}
    calls = {side: calls_per_round(work[side], ROUND_S, clock) for side in work}
    times = interleaved(work, calls, rounds, rng, clock)
    row = {"name": case.name, "moved": case.moved}
    row |= {f"{side}_ms": min(times[side]) * 1e3 for side in times}
    for side in sorted(set(times) - {"ours"}):
        row[side] = dataclasses.asdict(stats.paired_ratio(times[side], times["ours"]))
    return row


def figure(ratio: dict | None) -> str:
    return f"{ratio['median']:6.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]" if ratio else f"{'-':>6}"


def line(row: dict) -> str:
    text = f"{row['name']:22} {row['ours_ms']:9.3f} {row['baseline_ms']:13.3f}  {figure(row['baseline']):22} "
    text += figure(row.get("pocl"))
    if row["moved"]:
        speeds = [f"{row['moved'] / row[side] / 1e6:.1f}" for side in ("ours_ms", "baseline_ms")]
        text += f"   {speeds[0]} and {speeds[1]} GB/s"
    return text


def geomeans(measured: list[dict]) -> dict[str, float]:
    """Over the kernels; a copy is a bandwidth, not one of them."""
    means = {}
    for side in ("baseline", "pocl"):
        ratios = [stats.Ratio(**row[side]) for row in measured if side in row and not row["moved"]]
        if ratios:
            means[side] = stats.geomean(ratios)
    return means


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="NAME", help="kernels whose name contains this")
    parser.add_argument("--rounds", type=int, default=40, metavar="N")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="on every side")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    options = parser.parse_args()
    # By itself a kernel is compiled well only after a while, and then beside the rounds.
    os.environ.setdefault("ANYMPS_METAL_ENGINE", "specialised")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    chosen = cases(options.only)
    if not chosen:
        parser.error(f"no kernel's name contains {options.only!r}")
    progress("compiling the baseline")
    library = sides.compile_baseline(options.threads)
    pocl = None
    try:
        pocl = opencl.Pocl(options.threads)
    except opencl.Unavailable as error:
        progress(f"without PoCL: {error}")
    # One thread does all of its side's work, so its processor time is what it takes, whoever else uses the machine.
    clock = time.process_time if options.threads == 1 else time.perf_counter
    rng, measured, wrong = random.Random(0), [], []
    if not options.json:
        print(f"{'':22} {'ours, ms':>9} {'hand-written':>13}  {'speed [95% interval]':22}  against PoCL")
    for number, case in enumerate(chosen, 1):
        progress(f"[{number}/{len(chosen)}] {case.name}")
        good, problems = checked_sides(case, library, pocl)
        wrong += problems
        for problem in problems:
            progress(f"wrong: {problem}")
        if "ours" not in good:
            continue
        measured.append(measure(case, good, options.rounds, rng, clock))
        if not options.json:
            print(line(measured[-1]), flush=True)
    means = geomeans(measured)
    if options.json:
        result = {"threads": options.threads, "rounds": options.rounds, "target": TARGET}
        print(json.dumps(result | {"kernels": measured, "geomeans": means, "wrong": wrong}, indent=1))
    elif means:
        texts = [f"{means[side]:6.2f}" if side in means else f"{'-':>6}" for side in ("baseline", "pocl")]
        print(f"{'geometric mean':22} {'':9} {'':13}  {texts[0]:22} {texts[1]}")
        missed = [row["name"] for row in measured if row["baseline"]["high"] < TARGET]
        print(f"below {TARGET} of the hand-written speed: {', '.join(missed) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
