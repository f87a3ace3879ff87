"""Runs one pair on both devices and says what came of it.

The kernels are the CPU's own, so results are first held against each other to the bit. Only where that fails does a
tolerance come in: PyTorch's default for the dtype, the OpInfo's own override, or a line of tolerances.tsv with its reason.
"""

from __future__ import annotations

import csv
import dataclasses
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.utils._pytree as pytree
from expectations import Expectation, Pair, dtype_of
from torch.testing._internal.common_utils import TestCase

# What running a pair can come to, before anybody asks what was expected.
SAME, CLOSE, RANDOM, DIFFERS, RAISED, NOTHING = "same", "close", "random", "differs", "raised", "nothing"


@dataclasses.dataclass
class Ran:
    what: str
    detail: str = ""
    exception: str = ""  # the type's name, when the device raised
    reference_raised: bool = False  # the CPU refused the same call


class Raised(Exception):
    """The device raised; the original is the cause. Told apart from an error of the reference or of this harness."""


class ReferenceRaised(Exception):
    """The CPU raised where the device did not."""


class _Judge(TestCase):
    """PyTorch's own comparison, with its handling of nested results, views, sparse layouts and NaN."""

    def runTest(self):
        pass


JUDGE = _Judge()


def load_tolerances() -> dict[tuple[str, str, str], tuple[float, float]]:
    table = {}
    with open(Path(__file__).with_name("tolerances.tsv"), newline="") as file:
        for line in csv.DictReader(file, delimiter="\t"):
            for dtype in line["dtypes"].split(","):
                table[line["direction"], line["op"], dtype] = (float(line["atol"]), float(line["rtol"]))
    return table


TOLERANCES = load_tolerances()


def run(pair: Pair, op, expectation: Expectation, device: str) -> Ran:
    torch.manual_seed(0)
    tolerances = TOLERANCES.get((pair.direction, pair.key, pair.dtype), expectation.tolerances) or (None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if pair.direction == "errors":
                return _run_errors(op, device)
            return _run_samples(op, dtype_of(pair.dtype), pair.direction == "gradient", tolerances, device)
        except Raised as raised:
            error = raised.__cause__
            return Ran(RAISED, f"{raised}: {_text(error)}", type(error).__name__, _reference_also_raises(raised))
        except ReferenceRaised as raised:
            return Ran(DIFFERS, f"only the CPU raised: {_text(raised.__cause__)}", reference_raised=True)
        except AssertionError as error:
            return Ran(DIFFERS, _text(error))


def _run_errors(op, device: str) -> Ran:
    count = 0
    for i, error in _each(lambda: op.error_inputs(device, set_seed=True)):
        count += 1
        sample = error.sample_input
        try:
            op(sample.input, *sample.args, **sample.kwargs)
        except NotImplementedError as e:
            return Ran(RAISED, f"sample {i}: {_text(e)}", type(e).__name__)
        except error.error_type as e:
            if not re.search(error.error_regex, str(e)):
                return Ran(DIFFERS, f"sample {i}: says {_text(e)!r} where {error.error_regex!r} was expected")
        except Exception as e:  # noqa: BLE001 - any other type is the finding
            return Ran(DIFFERS, f"sample {i}: {type(e).__name__} where {error.error_type} was expected: {_text(e)}")
        else:
            return Ran(DIFFERS, f"sample {i}: no exception where {error.error_type} {error.error_regex!r} was expected")
    return Ran(SAME) if count else Ran(NOTHING, "no error inputs")


def _each(make: Callable[[], Iterator]) -> Iterator:
    """(index, item). Making inputs runs operators as well, when the iterator is made or at any step: a refusal there is one."""
    i = 0
    try:
        items = iter(make())
        while (item := next(items, None)) is not None:
            yield i, item
            i += 1
    except Exception as e:
        # What the caller does with an item is not raised in here.
        raise Raised(f"sample {i}, making it") from e


def _run_samples(op, dtype, gradient: bool, tolerances, device: str) -> Ran:
    floating = dtype.is_floating_point or dtype.is_complex
    conjugated = not gradient and dtype.is_complex and op.test_conjugated_samples

    def samples():
        return op.sample_inputs(
            device, dtype, requires_grad=floating, include_conjugated_inputs=conjugated, set_seed=True
        )

    worst, compared = SAME, 0
    for i, sample in _each(samples):
        result = _run_sample(op, sample, gradient, tolerances, f"sample {i}", device)
        if result != NOTHING:
            compared += 1
            worst = max(worst, result, key=(SAME, CLOSE, RANDOM).index)
    if not compared:
        return Ran(NOTHING, "nothing to differentiate" if gradient else "no sample inputs")
    return Ran(worst)


def _run_sample(op, sample, gradient: bool, tolerances, where: str, device: str) -> str:
    cpu_sample = to_cpu(sample)
    try:
        out = _call(op, sample)
    except Exception as e:
        raised = Raised(where)
        raised.retry = lambda: _call(op, cpu_sample)
        raise raised from e
    reference, cpu_sample = _reference(op, cpu_sample, out)
    forward = _hold(op, cpu_sample, reference, out, tolerances, f"{where}, value")
    if not gradient or forward == RANDOM:  # another draw has another gradient
        return forward if not gradient else NOTHING

    outs, inputs = _differentiable(out), _differentiable((sample.input, sample.args, sample.kwargs))
    references, cpu_inputs = (
        _differentiable(reference),
        _differentiable((cpu_sample.input, cpu_sample.args, cpu_sample.kwargs)),
    )
    JUDGE.assertEqual(len(references), len(outs), msg=f"{where}: how many outputs need a gradient")
    if not outs or not inputs:
        return NOTHING
    seeds = [torch.rand(t.shape, dtype=torch.float64).to(t.dtype) for t in references]
    try:
        expected = torch.autograd.grad(references, cpu_inputs, seeds, allow_unused=True)
    except Exception as e:
        expected, reference_error = None, e
    try:
        got = torch.autograd.grad(
            outs, inputs, [s.to(device, o.dtype) for s, o in zip(seeds, outs, strict=True)], allow_unused=True
        )
    except Exception as e:
        raised = Raised(f"{where}, gradient")
        raised.also = expected is None
        raise raised from e
    if expected is None:
        raise ReferenceRaised(where) from reference_error
    if any(a.dtype != b.dtype for a, b in zip(cpu_inputs, inputs, strict=True)):  # the reference ran in a wider type
        expected = [None if e is None else e.to(x.dtype) for e, x in zip(expected, inputs, strict=True)]
        got = list(got)
    return max(forward, _equal(expected, got, tolerances, f"{where}, gradient"), key=(SAME, CLOSE).index)


def _hold(op, cpu_sample, reference, out, tolerances, where: str) -> str:
    try:
        return _equal(reference, out, tolerances, where)
    except AssertionError:
        # An operator that does not agree with itself is random: then its shape, dtype and layout are what can agree.
        again = _call(op, cpu_sample)
        try:
            _equal(reference, again, (None, None), where)
        except AssertionError:
            _same_metadata(reference, out, where)
            return RANDOM
        raise


def _equal(reference, out, tolerances, where: str) -> str:
    try:
        JUDGE.assertEqual(reference, out, atol=0, rtol=0)
        return SAME
    except AssertionError:
        atol, rtol = tolerances
        JUDGE.assertEqual(reference, out, atol=atol, rtol=rtol, msg=lambda text: f"{where}: {text}")
        return CLOSE


def _same_metadata(reference, out, where: str) -> None:
    def metadata(tree):
        return [(t.shape, t.dtype, t.layout) for t in pytree.tree_leaves(tree) if torch.is_tensor(t)]

    JUDGE.assertEqual(metadata(reference), metadata(out), msg=f"{where}: shape, dtype, layout of a random result")


def _reference(op, cpu_sample, out):
    """The CPU's result, and the sample it was computed from: a wider one where the CPU has no kernel for the dtype."""
    try:
        return _call(op, cpu_sample), cpu_sample
    except NotImplementedError as e:
        if not torch.is_tensor(out):
            raise ReferenceRaised from e
    except Exception as e:
        raise ReferenceRaised from e
    wide = cpu_sample.transform(
        lambda x: x.detach().float().requires_grad_(x.requires_grad) if torch.is_tensor(x) else x
    )
    try:
        return _call(op, wide).to(out.dtype), wide
    except Exception as e:
        raise ReferenceRaised from e


def _call(op, sample):
    return op(sample.input, *sample.args, **sample.kwargs)


def _reference_also_raises(raised: Raised) -> bool:
    if hasattr(raised, "retry"):
        try:
            raised.retry()
        except Exception:  # noqa: BLE001 - only whether it raises
            return True
    return getattr(raised, "also", False)


def _differentiable(tree) -> list[torch.Tensor]:
    return [t for t in pytree.tree_leaves(tree) if torch.is_tensor(t) and t.requires_grad]


def to_cpu(sample):
    def move(x):
        if not torch.is_tensor(x):
            return x
        # The conjugate bit survives a copy only as a bit: move what it stands on and set it again.
        moved = x.conj().detach().cpu().conj() if x.is_conj() else x.detach().cpu()
        return moved.requires_grad_(x.requires_grad)

    moved = sample.transform(move)
    if "device" in moved.kwargs:
        moved.kwargs["device"] = "cpu"
    return moved


def _text(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
