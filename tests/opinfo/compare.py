"""Runs one pair on both devices and says what came of it.

The kernels are the CPU's own, so results are first held against each other to the bit. Only where that fails does a
tolerance come in: PyTorch's default for the dtype, the OpInfo's own, or a line of tolerances.tsv with its reason.
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
from torch.utils._python_dispatch import TorchDispatchMode

# What running a pair can come to, before anybody asks what was expected.
SAME, CLOSE, RANDOM, DIFFERS, RAISED, NOTHING = "same", "close", "random", "differs", "raised", "nothing"

# Of compiled code: its kernels are its own, and sum in another order. (atol, rtol)
COMPILED_TOLERANCES = (1e-5, 1e-4)

# MPS computes these in float32 whatever the input; the CPU's half kernels are far less exact, and some take a minute.
WIDE_REFERENCE = (
    "grid_sampler_2d",
    "grid_sampler_3d",
    *(f"nn.functional.conv{which}{n}d" for which in ("", "_transpose") for n in (1, 2, 3)),
)


@dataclasses.dataclass
class Ran:
    what: str
    detail: str = ""
    exception: str = ""  # the type's name, when the device raised
    no_reference: bool = False  # the CPU has no kernel for the dtype; it was asked in a wider one, or not at all
    everywhere: bool = False  # the CPU raised the same, in the same words; or nothing, as the device


class Raised(Exception):
    """The device raised; the original is the cause. Told apart from an error of the reference or of this harness."""

    def __init__(self, where: str, on_cpu: BaseException | None = None):
        super().__init__(where)
        self.on_cpu = on_cpu  # what the CPU raised, where it was asked

    def is_everywhere(self) -> bool:
        return type(self.on_cpu) is type(self.__cause__) and str(self.on_cpu) == str(self.__cause__)


class ReferenceRaised(Exception):
    """The CPU raised where the device did not; the original is the cause."""


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


def run(pair: Pair, op, expectation: Expectation, device: str, compiled: int = 0) -> Ran:
    """`compiled`: by torch.compile, that many of its samples; 0 is for all of them, eagerly."""
    torch.manual_seed(0)
    tolerances = TOLERANCES.get((pair.direction, pair.key, pair.dtype), expectation.tolerances) or (None, None)
    if compiled:
        tolerances = tuple(max(a or 0, b) for a, b in zip(tolerances, COMPILED_TOLERANCES, strict=True))
    comparison = Comparison(op, device, tolerances, compiled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if pair.direction == "errors":
                ran = run_errors(op, device)
            else:
                ran = comparison.run(dtype_of(pair.dtype), gradient=pair.direction == "gradient")
        except Raised as raised:
            error = raised.__cause__
            ran = Ran(RAISED, f"{raised}: {_text(error)}", type(error).__name__, everywhere=raised.is_everywhere())
        except ReferenceRaised as raised:
            ran = Ran(DIFFERS, f"only the CPU raised: {_text(raised.__cause__)}")
            comparison.no_reference = True
        except AssertionError as error:
            ran = Ran(DIFFERS, _text(error))
    # Where PyTorch's lists speak of complex types they mean the Mac, whatever the CPU has.
    ran.no_reference = comparison.no_reference and "complex" not in pair.dtype
    return ran


def run_errors(op, device: str) -> Ran:
    """Inputs that must be refused, each with the exception's type and text."""
    count = 0
    for i, error in _each(lambda: op.error_inputs(device, set_seed=True)):
        count += 1
        try:
            _call(op, error.sample_input)
        except Exception as e:
            if isinstance(e, error.error_type) and re.search(error.error_regex, str(e)):
                continue
            if isinstance(e, NotImplementedError):
                return Ran(RAISED, f"sample {i}: {_text(e)}", type(e).__name__)
            if isinstance(e, error.error_type):
                return Ran(DIFFERS, f"sample {i}: says {_text(e)!r} where {error.error_regex!r} was expected")
            return Ran(DIFFERS, f"sample {i}: {type(e).__name__} where {error.error_type} was expected: {_text(e)}")
        else:
            what = f"sample {i}: no exception where {error.error_type} {error.error_regex!r} was expected"
            return Ran(DIFFERS, what, everywhere=not _raises(op, to_cpu(error.sample_input)))
    return Ran(SAME) if count else Ran(NOTHING, "no error inputs")


class Comparison:
    """Values, and gradients, of one operator over all its sample inputs."""

    def __init__(self, op, device: str, tolerances: tuple[float | None, float | None], compiled: int = 0):
        self.op, self.device, self.tolerances, self.compiled = op, device, tolerances, compiled
        self.no_reference = False

    def run(self, dtype: torch.dtype, gradient: bool) -> Ran:
        floating = dtype.is_floating_point or dtype.is_complex
        conjugated = not gradient and dtype.is_complex and self.op.test_conjugated_samples

        def samples():
            return self.op.sample_inputs(
                self.device,
                dtype,
                requires_grad=floating and (gradient or not self.compiled),
                include_conjugated_inputs=conjugated,
                set_seed=True,
            )

        results = []
        for i, sample in _spread(_each(samples), self.compiled) if self.compiled else _each(samples):
            result = self.run_sample(sample, gradient, f"sample {i}")
            if result != NOTHING:
                results.append(result)
        if not results:
            return Ran(NOTHING, "nothing to differentiate" if gradient else "no sample inputs")
        return Ran(max(results, key=(SAME, CLOSE, RANDOM).index))

    def run_sample(self, sample, gradient: bool, where: str) -> str:
        cpu_sample = to_cpu(sample)
        try:
            out = (_call_compiled if self.compiled else _call)(self.op, sample)
        except Exception as e:
            raise Raised(where, _raises(self.op, cpu_sample)) from e
        reference, cpu_sample, wider = self.reference(cpu_sample, out)
        narrow = reference.to(out.dtype) if wider else reference
        forward = self.hold(cpu_sample, narrow, out, f"{where}, value")
        if not gradient:
            return forward
        if forward == RANDOM:  # another draw has another gradient
            return NOTHING
        backward = self.run_gradient(sample, out, cpu_sample, reference, f"{where}, gradient")
        return NOTHING if backward == NOTHING else max(forward, backward, key=(SAME, CLOSE).index)

    def run_gradient(self, sample, out, cpu_sample, reference, where: str) -> str:
        outs, references = _differentiable(out), _differentiable(reference)
        inputs, cpu_inputs = _differentiable(_arguments(sample)), _differentiable(_arguments(cpu_sample))
        JUDGE.assertEqual(len(references), len(outs), msg=f"{where}: how many outputs need one")
        if not outs or not inputs:
            return NOTHING
        # Rounded to the device's type before the reference, which may be wider, sees them: both must get the same.
        drawn = [torch.rand(o.shape, dtype=torch.float64).to(o.dtype) for o in outs]
        seeds = [seed.to(t.dtype) for seed, t in zip(drawn, references, strict=True)]
        expected, reference_error = None, None
        try:
            expected = torch.autograd.grad(references, cpu_inputs, seeds, allow_unused=True)
        except Exception as e:
            reference_error = e
        try:
            got = torch.autograd.grad(outs, inputs, [seed.to(self.device) for seed in drawn], allow_unused=True)
        except Exception as e:
            raise Raised(where, reference_error) from e
        if expected is None:
            raise ReferenceRaised(where) from reference_error
        if any(
            a.dtype != b.dtype for a, b in zip(cpu_inputs, inputs, strict=True)
        ):  # the reference ran in a wider type
            expected = tuple(None if e is None else e.to(x.dtype) for e, x in zip(expected, inputs, strict=True))
        return self.equal(expected, got, where)

    def reference(self, cpu_sample, out):
        """(The CPU's result, the sample it came from, whether that one is wider)."""
        narrow_types = (torch.float16, torch.bfloat16)
        if self.op.name in WIDE_REFERENCE and cpu_sample.input.dtype in narrow_types:
            wide = _widened(cpu_sample)
            return _call(self.op, wide), wide, True
        try:
            return _call(self.op, cpu_sample), cpu_sample, False
        except NotImplementedError as e:
            if not torch.is_tensor(out):
                raise ReferenceRaised from e
        except Exception as e:
            raise ReferenceRaised from e
        self.no_reference, wide = True, _widened(cpu_sample)
        try:
            return _call(self.op, wide), wide, True
        except Exception as e:
            raise ReferenceRaised from e

    def hold(self, cpu_sample, reference, out, where: str) -> str:
        try:
            return self.equal(reference, out, where)
        except AssertionError:
            # The devices draw from different streams, so of a random result only shape, dtype and layout can agree.
            if not _draws_random_numbers(self.op, cpu_sample):
                raise
            JUDGE.assertEqual(_metadata(reference), _metadata(out), msg=f"{where}: metadata of a random result")
            return RANDOM

    def equal(self, reference, out, where: str) -> str:
        try:
            JUDGE.assertEqual(reference, out, atol=0, rtol=0)
            return SAME
        except AssertionError:
            atol, rtol = self.tolerances
            JUDGE.assertEqual(reference, out, atol=atol, rtol=rtol, msg=lambda text: f"{where}: {text}")
            return CLOSE


class _Draws(TorchDispatchMode):
    """Notices operators that PyTorch itself tags as depending on a generator's seed."""

    seen = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen = self.seen or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def _draws_random_numbers(op, cpu_sample) -> bool:
    with _Draws() as draws:
        _call(op, cpu_sample)
    return draws.seen


def _each(make: Callable[[], Iterator]) -> Iterator:
    """(index, item). Making inputs runs operators too, when the iterator is made or at any step: one may be refused."""
    i = 0
    try:
        items = iter(make())
        while (item := next(items, None)) is not None:
            yield i, item
            i += 1
    except Exception as e:
        # What the caller does with an item is not raised in here.
        raise Raised(f"sample {i}, making it") from e


def _arguments(sample) -> tuple:
    return sample.input, sample.args, sample.kwargs


def _call(op, sample):
    return op(sample.input, *sample.args, **sample.kwargs)


def _raises(op, sample) -> BaseException | None:
    try:
        _call(op, sample)
    except Exception as error:
        return error
    return None


def _call_compiled(op, sample):
    torch._dynamo.reset()

    def operate(*arguments, **named):
        return op(*arguments, **named)

    return torch.compile(operate)(sample.input, *sample.args, **sample.kwargs)


def _spread(items: Iterator, count: int) -> list:
    """So many of them, the first and the last included."""
    all_items = list(items)
    if len(all_items) <= count:
        return all_items
    return [all_items[k * (len(all_items) - 1) // max(count - 1, 1)] for k in range(count)]


def _differentiable(tree) -> list[torch.Tensor]:
    return [t for t in pytree.tree_leaves(tree) if torch.is_tensor(t) and t.requires_grad]


def _metadata(tree) -> list[tuple]:
    return [(t.shape, t.dtype, t.layout) for t in pytree.tree_leaves(tree) if torch.is_tensor(t)]


def _widened(sample):
    return sample.transform(lambda x: x.detach().float().requires_grad_(x.requires_grad) if torch.is_tensor(x) else x)


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
