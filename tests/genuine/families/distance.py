"""Gradients of distances between points."""

import torch
from harness import Check, checks
from inputs import DTYPES
from packing import mps, packed, rounding

POWERS = {"0": (1.0,), "1": (float("inf"),), "2": (3.0, 1.5, 0.5)}


@checks(r"cdist_backward_(?P<type>float|half|bfloat)_p(?P<kind>[012])_tg(?P<group>\d+)")
def cdist_backward(kernel, match):
    dtype, group = DTYPES[match["type"]], int(match["group"])
    size = 70 if group == 128 else 37
    for p in POWERS[match["kind"]]:
        batch, left, right = 2, 5, group + 9
        x1 = torch.randn(batch, left, size).to(dtype)
        x2 = torch.randn(batch, right, size).to(dtype)
        x2[0, 3] = x1[0, 1]  # no distance at all
        grad = torch.randn(batch, left, right).to(dtype)
        exact = torch.cdist(x1.double(), x2.double(), p)
        distances = exact.float() if p == float("inf") else exact.to(dtype).float()
        out = torch.empty_like(x1, device="mps")
        padded = -(-size // group) * group
        # Alignment of C: four of 64 bits, then a float.
        parameters = packed("4qf", batch, left, right, size, p - 1)
        kernel(
            *(mps(t) for t in (x1, x2, grad, distances)),
            out,
            parameters,
            threads=(padded, left, batch),
            group_size=(group, 1, 1),
        )
        expected = torch.ops.aten._cdist_backward(
            grad.double(), x1.double(), x2.double(), p, distances.double() if p != float("inf") else exact
        )
        # A float32 sum over the points.
        apart = (x1[:, :, None] - x2[:, None]).double().abs()
        terms = grad.double().abs()[..., None]
        if p != float("inf"):
            powers = apart ** (p - 1) / distances.double()[..., None] ** (p - 1)
            terms = (terms * powers).where(apart != 0, 0)
        atol = right * 2.0**-24 * float(terms.sum(2).max())
        yield Check(f"p = {p}", out, expected.to(dtype), rtol=2 * rounding(dtype), atol=atol)
