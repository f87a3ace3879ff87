"""Gated linear units along a dimension (ActivationKernel.metal, from 2.14 on); of two tensors they are elementwise."""

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import blank
from operators import glu
from packing import packed, rounding

TYPE = r"(?P<type>float|half|bfloat)"
SHAPES = ((5, 7), (1, 300), (3, 1))  # rows, and elements in each half of them


def near(what: str, got: torch.Tensor, expected: torch.Tensor) -> Check:
    return Check(what, got, expected.to(got.dtype), rtol=2e-6 + 2 * rounding(got.dtype), atol=1e-6)


@checks(rf"glu_dense_{TYPE}", since="2.14")
def glu_dense(kernel, match):
    dtype = DTYPES[match["type"]]
    for rows, half in SHAPES:
        x = torch.randn(rows, 2 * half).mul(4).to(dtype)
        out = blank(dtype, rows, half)
        kernel(out, x.to("mps"), half, threads=(half, rows))
        yield near(f"{rows}x{half}", out, glu(*x.double().chunk(2, 1)))


def gradients(x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    wide = x.double().requires_grad_()
    torch.nn.functional.glu(wide, 1).backward(grad.double())
    return wide.grad


@checks(rf"glu_backward_dense_{TYPE}", since="2.14")
def glu_backward_dense(kernel, match):
    dtype = DTYPES[match["type"]]
    for rows, half in SHAPES:
        x, grad = torch.randn(rows, 2 * half).mul(4).to(dtype), torch.randn(rows, half).to(dtype)
        out = blank(dtype, rows, 2 * half)
        kernel(out, x.to("mps"), grad.to("mps"), half, threads=(half, rows))
        yield near(f"{rows}x{half}", out, gradients(x, grad))


@checks(rf"glu_backward_{TYPE}", since="2.14")
def glu_backward(kernel, match):
    """With strides in bytes; the second half is so many bytes behind the first."""
    dtype = DTYPES[match["type"]]
    rows, half, item = 6, 9, dtype.itemsize
    x, grad = torch.randn(2 * half, rows).mul(4).to(dtype), torch.randn(rows, half).to(dtype)
    out = blank(dtype, rows, 2 * half + 3)
    strides = [[item, (2 * half + 3) * item], [rows * item, item], [item, half * item]]
    kernel(
        *(out, x.to("mps"), grad.to("mps"), [half, rows], *strides, half * item, half * rows * item, packed("I", 2)),
        threads=rows * half,
    )
    yield near("gradients", out.cpu()[:, : 2 * half], gradients(x.t(), grad))
