"""Complex functions at the ends of the real axis, where the CPU's vectorised kernels answer NaN."""

import math

import pytest
import torch

ENDS = [complex(math.inf, 0), complex(-math.inf, 0), complex(math.nan, 0), complex(1, 0)]


@pytest.mark.parametrize("function", [torch.exp, torch.expm1, torch.sinh, torch.cosh])
def test_the_real_axis_stays_real(function):
    # More than a vector register's worth, since the remainder takes another path.
    result = function(torch.tensor(ENDS * 8, device="mps"))
    assert torch.equal(result.imag.cpu(), torch.zeros(32))


def test_in_place():
    x = torch.tensor(ENDS, device="mps")
    x.sinh_()
    assert torch.equal(x.imag.cpu(), torch.zeros(4))
