"""What PyTorch expects a Mac to do with an operator, dtype and direction: work, refuse, differ, or not be asked.

PyTorch says only "this test is expected to fail". To tell a refusal from another number:

1. An expected failure means a *refusal* (an exception), unless 2 applies. That is what the lists in common_mps are
   mostly made of: operators without an MPS kernel, dtypes that a kernel does not take, complex types.
2. It means *another number* where wrong_numbers.tsv says so, with the reason. A line stands on one of two grounds: a
   comment where PyTorch expects the failure (undefined order of equal elements, random masks, "not close"), or
   PyTorch's MPS sources, where the operator neither checks the dtype nor lacks a kernel for it.
   A line that no longer belongs to an expected failure of the installed PyTorch is reported: see `stale_lines`.
3. Where the CPU has no kernel for the dtype, PyTorch's comparison fails for want of a reference, whatever the Mac
   does. Then nothing is known about the Mac, and computing is as right as refusing (`classify`).

The modifiers come from the installed wheel, so a new PyTorch brings its own expectations.
"""

from __future__ import annotations

import copy
import csv
import dataclasses
import re
import sys
import types
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "cmake"))
import refusal_table

DIRECTIONS = ("forward", "gradient", "errors")
WORKS, REFUSES, OTHER_NUMBER, SKIPPED = "works", "refuses", "other-number", "skipped"


@dataclasses.dataclass(frozen=True)
class Pair:
    """One thing to compare. `variant` tells apart the several entries that PyTorch has for one operator."""

    op: str
    variant: str
    dtype: str  # "-" for error inputs, which choose their own
    direction: str

    @property
    def key(self) -> str:
        return self.op + self.variant  # how PyTorch's lists spell it

    @property
    def id(self) -> str:
        return "\t".join(dataclasses.astuple(self))

    @staticmethod
    def from_id(text: str) -> Pair:
        return Pair(*text.split("\t"))


@dataclasses.dataclass(frozen=True)
class Expectation:
    kind: str
    why: str = ""
    tolerances: tuple[float, float] | None = None  # from the OpInfo itself


def load_wrong_numbers(release: str) -> list[dict[str, str]]:
    """Those of a release of PyTorch: its column names the first and the last one, as in data/refusals.txt."""
    with open(Path(__file__).with_name("wrong_numbers.tsv"), newline="") as file:
        return [line for line in csv.DictReader(file, delimiter="\t") if refusal_table.is_of(line["releases"], release)]


# Which test of PyTorch's own file each direction mirrors: decorators may name a test.
MIRRORED = {
    "forward": ("TestConsistency", "test_output_match"),
    "gradient": ("TestConsistency", "test_output_grad_match"),
    "errors": ("TestErrorInputs", "test_error_inputs"),
}


class Expectations:
    """Holds the operator databases, one per direction, each with the modifiers that PyTorch's own test applies."""

    def __init__(self):
        import torch
        from torch.testing._internal import common_mps
        from torch.testing._internal.common_dtype import get_all_dtypes
        from torch.testing._internal.common_methods_invocations import op_db

        if not torch.backends.mps.is_available():
            raise SystemExit("torch.backends.mps.is_available() is False: is anymps installed here, and ANYMPS not 0?")
        forward = copy.deepcopy(op_db)
        forward += [_bicubic_from_bilinear(op) for op in op_db if op.name == "_upsample_bilinear2d_aa"]
        common_mps.mps_ops_modifier(forward)
        # The gradient comes on top of the forward expectations: what does not run forward has no gradient either.
        gradient = common_mps.mps_ops_grad_modifier(copy.deepcopy(forward))
        errors = [op for op in copy.deepcopy(op_db) if op.error_inputs_func is not None]
        # From 2.15 on PyTorch has no list for these: all are expected to be refused.
        errors = getattr(common_mps, "mps_ops_error_inputs_modifier", lambda ops: ops)(errors)
        self.databases = {"forward": forward, "gradient": gradient, "errors": errors}
        self.by_name = {d: {(op.name, op.variant_test_name): op for op in ops} for d, ops in self.databases.items()}
        self.wrong_numbers = load_wrong_numbers(".".join(torch.__version__.split(".")[:2]))
        self.dtypes = {
            "forward": [t for t in get_all_dtypes() if t not in (torch.float64, torch.complex128)],
            "gradient": [torch.float32, torch.float16],
        }

    def pairs(self) -> list[Pair]:
        found = []
        for direction in DIRECTIONS:
            for op in self.databases[direction]:
                if direction == "errors":
                    names = ["-"]
                else:
                    supported = op.supported_dtypes("mps")
                    names = [dtype_name(t) for t in self.dtypes[direction] if t in supported]
                found += [Pair(op.name, op.variant_test_name, name, direction) for name in names]
        return found

    def op(self, pair: Pair):
        return self.by_name[pair.direction][pair.op, pair.variant]

    def of(self, pair: Pair) -> Expectation:
        marks = self._marks(pair)
        if getattr(marks, "__unittest_skip__", False):
            return Expectation(SKIPPED, getattr(marks, "__unittest_skip_why__", "") or "by common_mps")
        try:
            marks(types.SimpleNamespace(device_type="mps"))  # decorators such as onlyCUDA decide when called
        except unittest.SkipTest as skip:
            return Expectation(SKIPPED, str(skip))
        tolerances = self._tolerances(marks, pair)
        if not getattr(marks, "__unittest_expecting_failure__", False):
            return Expectation(WORKS, tolerances=tolerances)
        line = self.wrong_number_line(pair)
        if line is not None:
            return Expectation(OTHER_NUMBER, line["why"], tolerances)
        return Expectation(REFUSES, tolerances=tolerances)

    def is_missing(self, pair: Pair) -> bool:
        """Does PyTorch expect a Mac to refuse this operator in every dtype?"""
        op = self.by_name["forward"][pair.op, pair.variant]
        names = [dtype_name(t) for t in self.dtypes["forward"] if t in op.supported_dtypes("mps")]
        forward = (self.of(Pair(pair.op, pair.variant, name, "forward")) for name in names)
        return all(e.kind == REFUSES for e in forward)

    def wrong_number_line(self, pair: Pair) -> dict[str, str] | None:
        # A gradient whose forward differs differs too.
        directions = {"gradient": ("gradient", "forward")}.get(pair.direction, (pair.direction,))
        for line in self.wrong_numbers:
            named = line["direction"] in directions and line["op"] == pair.key
            if named and (line["dtypes"] == "*" or pair.dtype in line["dtypes"].split(",")):
                return line
        return None

    def stale_lines(self) -> list[str]:
        used = set()
        for pair in self.pairs():
            if getattr(self._marks(pair), "__unittest_expecting_failure__", False):
                line = self.wrong_number_line(pair)
                if line is not None:
                    used.add((line["direction"], line["op"]))
        return [f"{x['direction']} {x['op']}" for x in self.wrong_numbers if (x["direction"], x["op"]) not in used]

    def _marks(self, pair: Pair):
        """A function that carries the marks which PyTorch's decorators would leave on this pair's test."""

        def test(self, *args, **kwargs):
            pass

        cls_name, test_name = MIRRORED[pair.direction]
        op = self.op(pair)
        for decorator in op.get_decorators(cls_name, test_name, "mps", dtype_of(pair.dtype), {"op": op}):
            test = decorator(test)
        return test

    @staticmethod
    def _tolerances(marks, pair: Pair) -> tuple[float, float] | None:
        override = getattr(marks, "tolerance_overrides", {}).get(dtype_of(pair.dtype))
        return (override.atol, override.rtol) if override else None


def _bicubic_from_bilinear(op):
    """OpInfo has no entry for the antialiased bicubic; PyTorch's own MPS test derives it like this."""
    import torch

    op = copy.deepcopy(op)
    op.name = "_upsample_bicubic2d_aa"
    op.op = torch.ops.aten._upsample_bicubic2d_aa
    return op


def dtype_name(dtype) -> str:
    return str(dtype).removeprefix("torch.")


def dtype_of(name: str):
    import torch

    return None if name == "-" else getattr(torch, name)


def match(pairs: list[Pair], ops: str | None, dtype: str | None) -> list[Pair]:
    """Pairs whose operator (name, or name.variant) matches entirely, and whose dtype is the one named."""
    if ops:
        pattern = re.compile(ops)
        pairs = [p for p in pairs if pattern.fullmatch(p.op) or pattern.fullmatch(f"{p.op}.{p.variant}")]
    return [p for p in pairs if dtype in (None, p.dtype)]
