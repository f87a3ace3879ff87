"""How near a sum of products in float32 is to the exact one."""

import torch
from harness import Check
from packing import rounding


def close(what: str, got: torch.Tensor, expected: torch.Tensor, terms: int, bound: float) -> Check:
    """Of `terms` products whose absolute values add up to at most `bound`; whole numbers are compared to the bit."""
    dtype = got.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        return Check(what, got, expected.to(dtype))
    if dtype == torch.complex32:
        got, expected = torch.view_as_real(got.cpu()), torch.view_as_real(expected)
        dtype = torch.float16
    return Check(what, got, expected.to(dtype), rtol=2 * rounding(dtype), atol=terms * 2.0**-24 * bound)
