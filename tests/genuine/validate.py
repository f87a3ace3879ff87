"""Launches genuine kernels as their checks do, with the sanitiser (docs/validation.md), and lists what it reports.

    python tests/genuine/validate.py LIBRARY [--each 3]

Status 1 where something is reported that is not known of PyTorch's kernels.
"""

import argparse
import collections
import pathlib
import random
import re
import sys

import anymps
import harness
import results
import torch

# What PyTorch's kernels do that Metal does not allow. None of it changes a result on the machines there are.
KNOWN = [
    # All lanes of the first simdgroup read a sum for each simdgroup; there are fewer. The scan does not use the others.
    (r"(cumsum|cumprod|logcumsumexp|cummax|cummin)_.*", "uninitialised threadgroup memory"),
    # The first sum of the next round is written while other simdgroups may still read it as the last round's carry.
    (r"(cummax|cummin)_innermost_.*", "race"),
    # The first thread returns from between the barriers where a matrix is not positive definite.
    (r"factorDiagonalBlock[LU]", "divergent barrier"),
]


def is_known(report: dict) -> bool:
    return any(re.fullmatch(kernel, report["kernel"]) and fault == report["fault"] for kernel, fault in KNOWN)


def sample(library, each: int) -> list[str]:
    """Up to `each` kernels of every checker, always the same ones."""
    names = collections.defaultdict(list)
    for name in dir(library):
        if found := harness.checker_of(name):
            names[found[0]].append(name)
    choice = random.Random(0)
    return [name for group in names.values() for name in choice.sample(group, min(each, len(group)))]


def unknown_reports(library, names: list[str]) -> list[dict]:
    found = []
    for name in names:
        with anymps.validating() as reports:
            harness.check_kernel(library, name)
        found += [report for report in reports if not is_known(report)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--each", type=int, default=3, help="how many kernels of each checker")
    options = parser.parse_args()
    harness.set_release(results.release_of(options.library) or harness.DEFAULT_RELEASE, options.library)
    harness.load_families()
    library = torch.mps.load_metallib(options.library)
    names = sample(library, options.each)
    found = unknown_reports(library, names)
    print(f"{len(names)} kernels, {len(found)} reports that are not known")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
