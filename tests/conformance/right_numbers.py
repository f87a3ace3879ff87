"""Tells a Mac's wrong number from a refusal where PyTorch's tests expect a failure.

A test that PyTorch expects to fail and that succeeds here is bad news where a Mac refuses: a user would find out on the
Mac. Where a Mac gives another number, succeeding is right. tests/opinfo/expectations.py has the rule for the tests of
OpInfo in test_mps.py; right_numbers.tsv names others.
"""

from __future__ import annotations

import csv
import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "opinfo"))

PREFIXES = {"forward": "test_output_match", "gradient": "test_output_grad_match", "errors": "test_error_inputs"}


@functools.cache
def _wrong_on_a_mac() -> frozenset[str]:
    """Names of the tests whose expected failure is another number."""
    import expectations

    known = expectations.Expectations()
    names = []
    for pair in known.pairs():
        if known.of(pair).kind == expectations.OTHER_NUMBER:
            name = f"{PREFIXES[pair.direction]}_{known.op(pair).formatted_name}_mps"
            names.append(name if pair.dtype == "-" else f"{name}_{pair.dtype}")
    return frozenset(names)


@functools.cache
def _named() -> frozenset[str]:
    with open(Path(__file__).with_name("right_numbers.tsv"), newline="") as file:
        return frozenset(line["test"] for line in csv.DictReader(file, delimiter="\t"))


def wrong_on_a_mac(test: str) -> bool:
    if test in _named():
        return True
    return test.startswith(tuple(PREFIXES.values())) and test in _wrong_on_a_mac()
