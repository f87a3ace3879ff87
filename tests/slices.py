"""Which part of a large body of cases the tests look at.

A change is gated by a fixed part. With `make test SLICE=k/n` it is every nth case, from the kth on: n such runs have
looked at all of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "conformance"))

from shepherd import slice_of


def chosen(usual: str = "") -> str:
    """K/N: that of SLICE, else the usual one."""
    return os.environ.get("ANYMPS_TEST_SLICE") or usual


def whole() -> bool:
    """Whether everything is looked at, as `make test-full` does."""
    return chosen() == "1/1"


def part_of(cases: list, share: str) -> list:
    return cases[slice_of(share)]
