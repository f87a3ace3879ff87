"""frexp (from 2.15 on)."""

import torch
from harness import Check, checks
from inputs import DTYPES, hard
from launch import blank, flushed
from packing import packed

TYPE = r"(?P<type>float|half|bfloat)"


def parts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    mantissa, exponent = torch.frexp(x.float())
    return mantissa.to(x.dtype), exponent


def finite(dtype: torch.dtype, count: int) -> torch.Tensor:
    """What exponent infinities and NaNs have is left open, and whether denormals have one or count as zeros."""
    x = hard(dtype, count)
    return torch.where(x.isfinite() & (flushed(x) == x), x, torch.ones_like(x))


@checks(rf"frexp_dense_{TYPE}", since="2.15")
def dense(kernel, match):
    x = finite(DTYPES[match["type"]], 300)
    mantissa, exponent = blank(x.dtype, 300), blank(torch.int32, 300)
    kernel(mantissa, exponent, x.to("mps"), threads=300)
    expected = parts(x)
    yield Check("mantissas", mantissa, expected[0])
    yield Check("exponents", exponent, expected[1])


@checks(rf"frexp_strided_{TYPE}", since="2.15")
def strided(kernel, match):
    memory = finite(DTYPES[match["type"]], 20 * 15).view(20, 15)
    x = memory.t()
    mantissa, exponent = blank(x.dtype, 15, 22), blank(torch.int32, 15, 20)
    item = x.element_size()
    strides = [[item, 22 * item], [4, 80], [15 * item, item]]
    kernel(mantissa, exponent, memory.to("mps"), [20, 15], *strides, packed("I", 2), threads=300)
    expected = parts(x)
    yield Check("mantissas", mantissa.cpu()[:, :20], expected[0])
    yield Check("exponents", exponent, expected[1].contiguous())
