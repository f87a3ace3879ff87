"""Rounds in which each side of a comparison is timed once, one right after the other."""

from __future__ import annotations

import gc
import random
import time


def time_calls(work, calls: int, clock=time.perf_counter) -> float:
    began = clock()
    for _ in range(calls):
        work()
    return (clock() - began) / calls


def calls_per_round(work, goal_s: float, clock=time.perf_counter) -> int:
    for _ in range(3):
        work()  # warm: caches, lazy initialisation
    once = min(time_calls(work, 3, clock) for _ in range(3))
    return max(1, round(goal_s / once))


def interleaved(
    work: dict, calls: dict[str, int], rounds: int, rng: random.Random, clock=time.perf_counter
) -> dict[str, list[float]]:
    """Seconds per call of each side, round by round; the order within a round is random."""
    times: dict[str, list[float]] = {side: [] for side in work}
    gc.collect()
    gc.disable()  # a collection in one side of a round is nobody's fault
    try:
        for _ in range(rounds):
            for side in rng.sample(sorted(work), len(work)):
                times[side].append(time_calls(work[side], calls[side], clock))
    finally:
        gc.enable()
    return times
