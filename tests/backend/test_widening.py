"""Operators that the CPU lacks for a type, or has only badly, and a Mac has."""

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_histc_of_integers(dtype):
    x = torch.tensor([0, 1, 1, 3], dtype=dtype)
    counts = torch.histc(x.to("mps"), bins=4, min=0, max=3)
    assert counts.dtype == dtype and counts.tolist() == [1, 2, 0, 1]


def test_bool_goes_past_integers():
    x = torch.tensor([True, False])
    assert F.silu(x.to("mps")).tolist() == [True, False]


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("function", [torch.sqrt, torch.exp, torch.tanh, lambda x: x / x, lambda x: x.sum(0)])
def test_complex_halves_in_hot_operators(function):
    x = torch.tensor([1 + 2j, 3 - 1j]).to(torch.complex32)
    expected = function(x.to(torch.complex64)).to(torch.complex32)
    assert torch.equal(torch.view_as_real(function(x.to("mps")).cpu()), torch.view_as_real(expected))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_grid_sampler_rounds_once(dtype):
    torch.manual_seed(0)
    image, grid = torch.randn(1, 2, 5, 5).to(dtype), (torch.rand(1, 4, 4, 2) * 2 - 1).to(dtype)
    exact = F.grid_sample(image.float(), grid.float(), align_corners=False).to(dtype)
    assert torch.equal(F.grid_sample(image.to("mps"), grid.to("mps"), align_corners=False).cpu(), exact)


def test_gradients_of_overlapping_windows_are_summed_in_float():
    torch.manual_seed(0)
    image = torch.randn(1, 1, 20, 20)
    values, places = F.max_pool2d(image, 13, 1, return_indices=True)
    grad = torch.randn_like(values).half()
    backward = torch.ops.aten.max_pool2d_with_indices_backward
    shape = ([13, 13], [1, 1], [0, 0], [1, 1], False)
    exact = backward(grad.float(), image, *shape, places).half()
    assert torch.equal(backward(grad.to("mps"), image.half().to("mps"), *shape, places.to("mps")).cpu(), exact)


def test_gradient_of_half_distances_finds_the_farthest_coordinate():
    torch.manual_seed(0)
    a, b = torch.randn(5, 2).half(), torch.randn(6, 2).half()

    def gradient(x, y):
        x.requires_grad_()
        torch.cdist(x, y, p=float("inf")).sum().backward()
        return x.grad

    expected = gradient(a.float(), b.float()).half()
    assert torch.equal(gradient(a.to("mps"), b.to("mps")).cpu(), expected)


def test_nll_loss_backward_takes_a_total_weight_of_another_type():
    scores = torch.rand(5, 5, device="mps", dtype=torch.half)
    labels = torch.zeros(5, dtype=torch.int64, device="mps")
    grad = torch.ones((), device="mps", dtype=torch.half)
    total = torch.tensor(5.0, device="mps")
    result = torch.ops.aten.nll_loss_backward(grad, scores, labels, None, 1, -100, total)
    assert result.dtype == torch.half
    assert torch.equal(result[:, 0].cpu(), torch.full((5,), -0.2, dtype=torch.half))


def test_what_nothing_wider_computes_is_refused_by_its_own_name():
    x = torch.ones(2, device="mps", dtype=torch.bool)
    with pytest.raises(NotImplementedError, match="'Bool'"):
        torch.lerp(x, x, 0.5)


@pytest.mark.parametrize(
    ("weights", "counts"),
    [
        (torch.int8, torch.int32),
        (torch.int64, torch.int32),
        (torch.float16, torch.float16),
        (torch.float32, torch.float32),
    ],
)
def test_bincount_has_no_float64(weights, counts):
    x = torch.tensor([0, 2, 2], device="mps")
    result = torch.bincount(x, torch.tensor([1, 2, 3], dtype=weights, device="mps"))
    assert result.dtype == counts and result.tolist() == [1, 0, 5]
