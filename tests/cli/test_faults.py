"""Writes, opens, renames ... that fail, one at a time: the short form of `make faults` (tests/faults)."""

import sys
from pathlib import Path

import pytest
import slices

FAULTS = Path(__file__).resolve().parents[1] / "faults"
sys.path.append(str(FAULTS))

import inject  # noqa: E402

COUNT = 1000 if slices.whole() else 120


def test_nothing_is_left_half(anymps, tmp_path):
    if not inject.LIBRARY.exists():
        pytest.skip(f"there is no {inject.LIBRARY}; make cpp-tests builds it")
    laboratory = inject.Laboratory(tmp_path, anymps, inject.LIBRARY)
    scenarios = [scenario for scenario in laboratory.scenarios() if not scenario.heavy]
    complaints, seen, missed = inject.inject(laboratory, scenarios, COUNT, 1, seed=0, verbose=False)
    assert complaints == []
    assert sum(seen.values()) + missed == COUNT and missed < COUNT / 10
