"""From what was expected and what happened to one word."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

AGREE = "agree"
REFUSED_AS_EXPECTED = "refused-as-expected"
UNEXPECTED_PASS = "unexpected-pass"  # a Mac refuses, we compute: a mismatch
EXPECTED_WRONG_NUMBER = "expected-wrong-number"  # a Mac gives another number; ours is the CPU's, or random as well
DISAGREE = "disagree"
ERROR = "error"
CRASH = "crash"
TIMEOUT = "timeout"
MEMORY = "memory"
SKIPPED = "skipped"
INDUCTORS_OWN = "inductors-own"  # compiled: a fault of what Inductor writes, which a Mac shows as well

# What a Mac says of an operator's bad inputs before there are any, which PyTorch's lists tell of until 2.14.
TOO_MANY_DIMENSIONS = "MPS supports tensors with dimensions <= 16"

GOOD = (AGREE, REFUSED_AS_EXPECTED)
BAD = (DISAGREE, ERROR, CRASH, TIMEOUT, MEMORY, UNEXPECTED_PASS)
NOT_COUNTED = (SKIPPED, EXPECTED_WRONG_NUMBER, INDUCTORS_OWN)


@functools.cache
def inductors_own() -> dict[str, str]:
    """Why, by operator: from inductors_own.tsv."""
    with open(Path(__file__).with_name("inductors_own.tsv"), newline="") as file:
        return {line["op"]: line["why"] for line in csv.DictReader(file, delimiter="\t")}


def classify_compiled(op: str, expectation, ran) -> tuple[str, str]:
    """For torch.compile, which often makes an operator that a Mac lacks of others that it has."""
    import compare
    import expectations

    if ran.what in (compare.SAME, compare.CLOSE, compare.RANDOM):
        return AGREE, ""
    if ran.what == compare.NOTHING:
        return SKIPPED, ran.detail
    if ran.what == compare.RAISED:
        if expectation.kind == expectations.REFUSES:
            return REFUSED_AS_EXPECTED, ran.exception
        bad = ERROR, f"{ran.exception} {ran.detail}"
    elif expectation.kind == expectations.OTHER_NUMBER:
        return EXPECTED_WRONG_NUMBER, expectation.why
    else:
        bad = DISAGREE, ran.detail
    return (INDUCTORS_OWN, inductors_own()[op]) if op in inductors_own() else bad


def classify(expectation, ran, operator_is_missing: bool) -> tuple[str, str]:
    """`operator_is_missing`: PyTorch expects a Mac to refuse this operator whatever the dtype."""
    import compare
    import expectations

    agreed = ran.what in (compare.SAME, compare.CLOSE, compare.RANDOM)
    if ran.what == compare.NOTHING:
        return SKIPPED, ran.detail
    if operator_is_missing and ran.what == compare.RAISED and ran.exception == "NotImplementedError":
        return REFUSED_AS_EXPECTED, ran.exception  # also where bad inputs should have met another exception
    if expectation.kind == expectations.WORKS:
        if agreed:
            return AGREE, ""
        if ran.everywhere:
            return SKIPPED, "the CPU does the same"
        if TOO_MANY_DIMENSIONS in ran.detail:
            return REFUSED_AS_EXPECTED, ran.exception
        if ran.what == compare.RAISED:
            return ERROR, f"{ran.exception} {ran.detail}"
        return DISAGREE, ran.detail
    if ran.what == compare.RAISED:
        return REFUSED_AS_EXPECTED, ran.exception
    if expectation.kind == expectations.OTHER_NUMBER:
        return EXPECTED_WRONG_NUMBER, expectation.why + ("" if agreed else "; differs here too")
    if ran.no_reference:
        return EXPECTED_WRONG_NUMBER, "the CPU has no kernel for this dtype"
    if agreed:
        return UNEXPECTED_PASS, ""
    return DISAGREE, f"a Mac refuses: {ran.detail}"
