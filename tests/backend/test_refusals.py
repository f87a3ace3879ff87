"""What the device refuses operator by operator: PyTorch's exception and text, and a process that goes on."""

import importlib.util
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ".".join(torch.__version__.split(".")[:2])
PSEUDO_ARGUMENTS = {"promoted", "any"}


def module():
    """What makes the compiled table of the data file."""
    spec = importlib.util.spec_from_file_location("refusal_table", ROOT / "cmake" / "refusal_table.py")
    refusal_table = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refusal_table)
    return refusal_table


def table():
    """(operator, condition, exception, text) per line of the data file that is of this release."""
    for operators, when, exception, text, *_ in module().entries(str(ROOT / "data" / "refusals.txt"), RELEASE):
        for operator in operators.split(","):
            yield operator.strip(), when, exception, text


def covered():
    lines = (ROOT / "data" / "coverage" / f"torch{RELEASE}.txt").read_text().splitlines()
    return {line.split()[1] for line in lines if line.startswith("MPS ")}


def overloads(operator):
    """The operators that a name in the table stands for."""
    return {name for name in covered() if operator in (name, name.partition(".")[0])}


def argument_names(operator):
    name, _, overload = operator.partition(".")
    return [a.name for a in getattr(getattr(torch.ops.aten, name), overload or "default")._schema.arguments]


def test_every_row_names_an_operator_that_the_device_has():
    assert [operator for operator, *_ in table() if not overloads(operator)] == []


def test_every_row_names_an_argument_of_its_operator():
    for operator, when, *_ in table():
        argument = when.partition(":")[0].strip()
        if when.startswith("[") or argument in PSEUDO_ARGUMENTS:
            continue
        for overload in overloads(operator):
            assert argument in argument_names(overload), f"{overload}: {argument}"


def test_a_row_becomes_one_line_of_the_compiled_table(tmp_path):
    data = tmp_path / "rows.txt"
    row = 'b.out, a | self: not floating | TypeError | say "no" to {dtype}'
    data.write_text(f"# a comment\n\n{row}\nc | self: bool | TypeError | no | 2.12-2.13\n")
    first, second, third = module().rows(str(data))
    assert first.startswith('{"a", "*", Subject::kDtype, RefusalKind::kTypeError, "self", ')
    assert second.startswith('{"b", "out", ')
    assert "ScalarType::Bool" in first and "ScalarType::Float)" not in first
    assert first.endswith(', nullptr, "say \\"no\\" to {dtype}", 0, 9999},')
    assert third.endswith(', "no", 212, 213},')


def mps(*shape, dtype=torch.float32):
    return torch.ones(shape, device="mps").to(dtype)


def eight_bits():
    return torch.ones(2, 2).to(torch.float8_e4m3fn).to("mps")


CASES = {
    "dtype": (
        lambda: torch.linalg.inv(mps(2, 2, dtype=torch.complex64)),
        RuntimeError,
        "linalg_inv: not supported for complex types yet!",
    ),
    "predicate": (
        lambda: torch.linalg.lu_factor(mps(2, 2), pivot=False),
        RuntimeError,
        "linalg.lu_factor(): MPS doesn't allow pivot == False.",
    ),
    "NotImplementedError": (
        lambda: F.smooth_l1_loss(mps(2, dtype=torch.int64), mps(2, dtype=torch.int64)),
        NotImplementedError,
        "MPS doesn't know how to do square_i64",
    ),
    "promoted": (
        lambda: torch.nextafter(mps(2, dtype=torch.int32), mps(2, dtype=torch.int64)),
        TypeError,
        "nextafter_mps not implemented for non-floating types",
    ),
    "promoted with a number": (
        lambda: mps(2, dtype=torch.int32).bitwise_left_shift(1.5),
        NotImplementedError,
        "bitwise_left_shift not implemented for Float",
    ),
    "types of two arguments": (
        lambda: torch.mm(mps(2, 2), mps(2, 2, dtype=torch.half)),
        RuntimeError,
        "expected mat1 and mat2 to have the same dtype, but got: float != c10::Half",
    ),
    "named type": (
        lambda: torch.aminmax(mps(2, dtype=torch.complex64)),
        RuntimeError,
        "aminmax not implemented for ComplexFloat",
    ),
    "Metal's name": (
        lambda: torch.renorm(mps(2, 2, dtype=torch.complex64), 1, 0, 1),
        RuntimeError,
        "Failed to create function state object for: renorm_float2",
    ),
    "out overload": (
        lambda: torch.linalg.lu_factor(mps(2, 2, dtype=torch.complex64), out=(mps(0), mps(0))),
        RuntimeError,
        None,
    ),
    "input not divisible": (
        lambda: F.adaptive_avg_pool2d(mps(1, 1, 7, 7), 3),
        RuntimeError,
        "Adaptive pool MPS: input sizes must be divisible by output sizes.",
    ),
    "packed weights of an odd size": (
        lambda: torch._weight_int8pack_mm(mps(4, 32), mps(48, 32, dtype=torch.int8), mps(48)),
        RuntimeError,
        "Expected N % 32 == 0 && K % 32 == 0 to be true, but got false.",
    ),
    "product of eight bits": (
        lambda: torch.mm(eight_bits(), eight_bits()),
        TypeError,
        "Trying to convert Float8_e4m3fn to the MPS backend but it does not have support for that dtype.",
    ),
    "conversion to eight bits": (
        lambda: mps(2).to(torch.float8_e5m2),
        RuntimeError,
        "Undefined type Float8_e5m2",
    ),
    "output of no size": (
        lambda: F.adaptive_avg_pool2d(mps(1, 1, 4, 4), 0),
        RuntimeError,
        "Adaptive pool MPS: input sizes must be divisible by output sizes.",
    ),
    "output not divisible": (
        lambda: F.adaptive_avg_pool2d(mps(1, 1, 3, 3), 7),
        RuntimeError,
        "Adaptive pool MPS: output sizes must be divisible by input sizes.",
    ),
    "grows and shrinks": (
        lambda: F.adaptive_avg_pool2d(mps(1, 1, 4, 8), (8, 4)),
        RuntimeError,
        "Adaptive pool MPS: Input height and width must both be greater than, or equal to, or lesser than output",
    ),
    "integer convolution": (
        lambda: F.conv2d(mps(1, 1, 3, 3, dtype=torch.int64), mps(1, 1, 2, 2, dtype=torch.int64)),
        RuntimeError,
        "Convolution is supported only for Floating types",
    ),
    "half transposed convolution": (
        lambda: F.conv_transpose3d(mps(1, 1, 2, 2, 2, dtype=torch.half), mps(1, 1, 2, 2, 2, dtype=torch.half)),
        RuntimeError,
        "ConvTranspose 3D with BF16 or FP16 types is not supported on MPS",
    ),
    "integer weights": (
        lambda: F.linear(mps(2, 2), mps(2, 2, dtype=torch.int8)),
        RuntimeError,
        "MPS device does not support linear for non-float weights",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusal(case):
    call, exception, text = CASES[case]
    with pytest.raises(exception, match=re.escape(text) if text else None) as raised:
        call()
    assert type(raised.value) is exception
    assert torch.equal((mps(2) + 1).cpu(), torch.full((2,), 2.0))


def test_a_number_lifts_bools_to_integers():
    assert (mps(2, dtype=torch.bool) << 3).tolist() == [8, 8]


def test_what_is_divisible_is_pooled():
    x = torch.rand(1, 2, 8, 6)
    assert torch.equal(F.adaptive_avg_pool2d(x.to("mps"), (4, 3)).cpu(), F.adaptive_avg_pool2d(x, (4, 3)))


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


INDEX = torch.tensor([0, 0, 1])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda t, i, s: t.index_put_((i,), s, accumulate=True), "index_put_with_accumulate_mps"),
        (lambda t, i, s: t.index_add_(0, i, s), "index_put_with_accumulate_mps"),
        (lambda t, i, s: t.scatter_add_(0, i, s), "scatter_reduce_mps"),
        (lambda t, i, s: t.scatter_reduce_(0, i, s, "prod"), "scatter_reduce_mps"),
        (lambda t, i, s: t.kthvalue(1), "kthvalue MPS"),
    ],
)
def test_determinism_alert(deterministic, call, name):
    with pytest.raises(RuntimeError, match=f"^{name} does not have a deterministic implementation"):
        call(mps(3), INDEX.to("mps"), mps(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda t, i, s: t.index_put_((i,), s),
        lambda t, i, s: t.scatter_reduce_(0, i, s, "amax"),
        lambda t, i, s: t.long().index_add_(0, i, s.long()),
    ],
)
def test_no_alert_where_order_does_not_matter(deterministic, call):
    call(mps(3), INDEX.to("mps"), mps(3))


KNOWN = {"2.9", "2.11", "2.12", "2.13", "2.14", "2.15"}


@pytest.mark.parametrize(
    ("releases", "kept"),
    [
        ("", KNOWN),
        (" | 2.12-2.13", {"2.12", "2.13"}),
        (" | 2.14-", {"2.14", "2.15"}),
        (" | -2.11", {"2.9", "2.11"}),
    ],
)
def test_a_row_is_of_the_releases_that_it_names(tmp_path, releases, kept):
    data = tmp_path / "rows.txt"
    data.write_text(f"b | self: bool | TypeError | no{releases}\n")
    (row,) = module().rows(str(data))
    first, last = (int(number) for number in re.search(r"(\d+), (\d+)},$", row).groups())
    as_numbers = {release: int("{}{:02}".format(*map(int, release.split(".")))) for release in KNOWN}
    assert {release for release, number in as_numbers.items() if first <= number <= last} == kept
    assert not releases or {release for release in KNOWN if module().is_of(releases.strip(" |"), release)} == kept
