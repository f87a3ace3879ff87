"""Products of odd shapes and odd types."""

import pytest
import torch


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("exponents", [torch.int32, torch.int64, torch.float32])
def test_ldexp(dtype, exponents):
    """The other way round than frexp, whose exponents are whole numbers."""
    x, exponent = torch.tensor([0.5, -0.75, 3.0], dtype=dtype), torch.tensor([2, -1, 0], dtype=exponents)
    y, two = x.to("mps"), exponent.to("mps")
    expected = torch.ldexp(x, exponent)
    assert torch.equal(torch.ldexp(y, two).cpu(), expected)
    assert torch.equal(torch.ldexp(y, two, out=torch.empty_like(y)).cpu(), expected)
    if exponents != torch.float32 or dtype == torch.float32:
        assert torch.equal(y.ldexp_(two).cpu(), expected)


def test_the_gradient_of_ldexp_in_half():
    x = torch.ones(3, dtype=torch.half, device="mps", requires_grad=True)
    torch.ldexp(x, torch.tensor([0, 1, 2], device="mps")).sum().backward()
    assert x.grad.tolist() == [1, 2, 4]


@pytest.mark.parametrize("shape", [(3, 2, 0), (0, 2), (3, 0, 2), (0,)])
def test_linear_where_a_row_or_all_rows_are_empty(shape):
    def sides(device):
        x = torch.ones(shape, device=device, requires_grad=True)
        weight = torch.ones(4, shape[-1], device=device, requires_grad=True)
        y = torch.nn.functional.linear(x, weight)
        y.sum().backward()
        return y, x.grad, weight.grad

    for there, here in zip(sides("mps"), sides("cpu"), strict=True):
        assert torch.equal(there.cpu(), here)
