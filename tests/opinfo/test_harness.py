"""The harness must be able to fail: wrong values, wrong shapes, missing exceptions, and dead workers are seen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import classify  # noqa: E402 - found by the line above
import compare  # noqa: E402
import expectations  # noqa: E402
from expectations import Expectation, Pair  # noqa: E402
from torch.testing._internal.opinfo.core import ErrorInput, SampleInput  # noqa: E402


class FakeOp:
    """An operator that computes `on_cpu` for CPU tensors and `on_device` for the others."""

    name, test_conjugated_samples = "fake", False

    def __init__(self, on_cpu, on_device, errors=()):
        self.on_cpu, self.on_device, self.errors = on_cpu, on_device, errors

    def __call__(self, x):
        return self.on_cpu(x) if x.device.type == "cpu" else self.on_device(x)

    def sample_inputs(self, device, dtype, requires_grad, **_):
        yield SampleInput(torch.arange(1, 5, dtype=dtype).to(device).requires_grad_(requires_grad))

    def error_inputs(self, device, **_):
        yield from self.errors


def outcome(op, direction="forward", kind=expectations.WORKS, dtype="float32"):
    pair = Pair("fake", "", dtype, direction)
    expectation = Expectation(kind, "why")
    return classify.classify(expectation, compare.run(pair, op, expectation, "mps:0"), False)[0]


def refuse(*_):
    raise RuntimeError("no")


def refuse_otherwise(*_):
    raise RuntimeError("not at all")


def same(x):
    return x * 2


def slightly_off(x):
    return x * 2.001


@pytest.mark.parametrize(
    ("on_cpu", "on_device", "kind", "expected"),
    [
        (same, same, expectations.WORKS, classify.AGREE),
        (same, slightly_off, expectations.WORKS, classify.DISAGREE),
        (same, lambda x: (x * 2)[:-1], expectations.WORKS, classify.DISAGREE),
        (same, lambda x: (x * 2).half(), expectations.WORKS, classify.DISAGREE),
        (same, refuse, expectations.WORKS, classify.ERROR),
        (refuse, refuse, expectations.WORKS, classify.SKIPPED),
        (refuse_otherwise, refuse, expectations.WORKS, classify.ERROR),
        (refuse, same, expectations.WORKS, classify.DISAGREE),
        (same, refuse, expectations.REFUSES, classify.REFUSED_AS_EXPECTED),
        (same, same, expectations.REFUSES, classify.UNEXPECTED_PASS),
        (same, slightly_off, expectations.REFUSES, classify.DISAGREE),
        (same, same, expectations.OTHER_NUMBER, classify.EXPECTED_WRONG_NUMBER),
        (same, slightly_off, expectations.OTHER_NUMBER, classify.EXPECTED_WRONG_NUMBER),
        (torch.rand_like, torch.rand_like, expectations.WORKS, classify.AGREE),
        (torch.rand_like, lambda x: torch.rand(3, device=x.device), expectations.WORKS, classify.DISAGREE),
    ],
)
def test_forward(on_cpu, on_device, kind, expected):
    assert outcome(FakeOp(on_cpu, on_device), kind=kind) == expected


class WrongGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


def test_a_wrong_gradient_is_seen():
    op = FakeOp(same, WrongGradient.apply)
    assert outcome(op) == classify.AGREE
    assert outcome(op, "gradient") == classify.DISAGREE


def test_a_missing_gradient_is_seen():
    assert outcome(FakeOp(same, lambda x: (x * 2).detach()), "gradient") == classify.DISAGREE


def test_nothing_to_differentiate_is_a_skip():
    assert outcome(FakeOp(torch.argmax, torch.argmax), "gradient") == classify.SKIPPED


@pytest.mark.parametrize(
    ("on_device", "expected"),
    [
        (refuse, classify.AGREE),
        (same, classify.DISAGREE),
        (lambda x: [][1], classify.DISAGREE),
    ],
)
def test_error_inputs(on_device, expected):
    error = ErrorInput(SampleInput(torch.ones(1, device="mps")), error_type=RuntimeError, error_regex="no")
    assert outcome(FakeOp(refuse, on_device, [error]), "errors", dtype="-") == expected


def test_bad_inputs_that_the_cpu_takes_too_say_nothing():
    error = ErrorInput(SampleInput(torch.ones(1, device="mps")), error_type=RuntimeError, error_regex="no")
    assert outcome(FakeOp(same, same, [error]), "errors", dtype="-") == classify.SKIPPED


def test_another_message_is_seen():
    error = ErrorInput(SampleInput(torch.ones(1, device="mps")), error_type=RuntimeError, error_regex="yes")
    assert outcome(FakeOp(same, refuse, [error]), "errors", dtype="-") == classify.DISAGREE


def test_a_missing_operator_may_answer_bad_inputs_with_its_refusal():
    ran = compare.Ran(compare.RAISED, exception="NotImplementedError")
    assert classify.classify(Expectation(expectations.WORKS), ran, True)[0] == classify.REFUSED_AS_EXPECTED
    assert classify.classify(Expectation(expectations.WORKS), ran, False)[0] == classify.ERROR


def test_a_table_from_somewhere_else_is_refused(tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("nothing\n")
    done = subprocess.run(
        [sys.executable, str(HERE / "run.py"), "--against", str(other)], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "is not a table of outcomes" in done.stderr


def test_worse_exits_with_1(tmp_path):
    """`add` on float32 agrees; a table that says the same of a refused pair is contradicted."""
    before = tmp_path / "before.tsv"
    before.write_text("op\tvariant\tdtype\tdirection\toutcome\tdetail\nempty\t\tfloat32\tforward\tagree\t\n")
    command = [sys.executable, str(HERE / "run.py"), "--ops", "empty", "--dtype", "float32", "--against", str(before)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "worse: empty  float32 forward: agree -> skipped" in done.stdout
