"""Ratios of paired measurements: median, and a bootstrap interval over the pairs.

The two sides of a pair ran next to each other in time, so what the machine did meanwhile hits both. The ratio is taken
within each pair before anything is averaged (paired percentile bootstrap; Efron and Tibshirani, An Introduction to the
Bootstrap, 1993).
"""

from __future__ import annotations

import dataclasses
import math
import random
import statistics

RESAMPLES = 2000


@dataclasses.dataclass(frozen=True)
class Ratio:
    median: float
    low: float
    high: float


def paired_ratio(numerators: list[float], denominators: list[float], seed: int = 0) -> Ratio:
    ratios = [a / b for a, b in zip(numerators, denominators, strict=True)]
    return Ratio(statistics.median(ratios), *_bootstrap(ratios, seed))


def grouped_ratio(groups: list[list[float]], seed: int = 0) -> Ratio:
    """Of ratios that came in groups, such as processes, which differ among each other: whole groups are resampled."""
    rng = random.Random(seed)
    medians = sorted(
        statistics.median(r for group in rng.choices(groups, k=len(groups)) for r in group) for _ in range(RESAMPLES)
    )
    everything = [r for group in groups for r in group]
    return Ratio(statistics.median(everything), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)])


def verdict(ratio: Ratio, target: float) -> str:
    """Met or missed when the whole interval says so."""
    if ratio.high <= target:
        return "met"
    return "missed" if ratio.low > target else "undecided"


def geomean(ratios: list[Ratio]) -> float:
    return math.exp(sum(math.log(r.median) for r in ratios) / len(ratios))


def geomean_ratio(groups: list[list[float]], seed: int = 0) -> Ratio:
    """The geometric mean of the groups' medians; each group's ratios are resampled within it."""
    rng = random.Random(seed)

    def mean(samples: list[list[float]]) -> float:
        return statistics.geometric_mean([statistics.median(sample) for sample in samples])

    means = sorted(mean([rng.choices(group, k=len(group)) for group in groups]) for _ in range(RESAMPLES))
    return Ratio(mean(groups), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)])


def _bootstrap(values: list[float], seed: int) -> tuple[float, float]:
    """The 95% percentile interval of the median."""
    rng = random.Random(seed)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]
