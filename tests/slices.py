"""Which part of a large body of cases the tests look at.

A change is gated by a fixed part. With `make test SLICE=k/n` it is every nth case, from the kth on: n such runs have
looked at all of them.
"""

from __future__ import annotations

import os


def chosen(usual: str) -> str:
    """K/N: that of SLICE, else the usual one."""
    return os.environ.get("ANYMPS_TEST_SLICE") or usual


def is_chosen() -> bool:
    return bool(os.environ.get("ANYMPS_TEST_SLICE"))


def part_of(cases: list, share: str) -> list:
    k, n = map(int, share.split("/"))
    if not 1 <= k <= n:
        raise ValueError(f"{share} is no slice: K/N, with K from 1 to N")
    return cases[k - 1 :: n]
