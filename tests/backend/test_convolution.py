"""What a convolution gives on a Mac: sums in float, whatever the type, and results laid out by the arguments."""

import pytest
import torch
import torch.nn.functional as F


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_types_are_summed_in_float(dtype):
    x, w = torch.rand(1, 512, 5, 5).to(dtype), torch.rand(4, 512, 3, 3).to(dtype)
    expected = F.conv2d(x.double(), w.double())
    found = F.conv2d(x.to("mps"), w.to("mps"))
    assert found.dtype == dtype
    torch.testing.assert_close(found.cpu().double(), expected, rtol=torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("weight_is", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("input_is", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_results_and_gradients_are_laid_out_as_the_arguments(dtype, input_is, weight_is):
    x = torch.rand(2, 4, 6, 6, device="mps", dtype=dtype).to(memory_format=input_is).requires_grad_()
    w = torch.rand(8, 4, 3, 3, device="mps", dtype=dtype).to(memory_format=weight_is).requires_grad_()
    expected = torch.channels_last if torch.channels_last in (input_is, weight_is) else torch.contiguous_format
    result = F.conv2d(x, w)
    gradients = torch.autograd.grad(result, (x, w), torch.ones_like(result))
    assert [t.is_contiguous(memory_format=expected) for t in (result, *gradients)] == [True] * 3


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("channels, side, kernel, groups", [(16, 32, 3, 1), (64, 14, 1, 1), (32, 17, 5, 32)])
def test_a_layout_changes_no_bit(channels, side, kernel, groups, transposed):
    """torch.compile chooses layouts of its own and must find what eager mode finds."""
    convolve = F.conv_transpose2d if transposed else F.conv2d
    x = torch.randn(2, channels, side, side)
    w = torch.randn(channels, channels // groups, kernel, kernel)
    gradient = torch.randn(convolve(x, w, groups=groups).shape)
    found = []
    for layout in (torch.contiguous_format, torch.channels_last):
        arguments = [t.to("mps").to(memory_format=layout).requires_grad_() for t in (x, w)]
        result = convolve(*arguments, groups=groups)
        gradients = torch.autograd.grad(result, arguments, gradient.to("mps").to(memory_format=layout))
        found.append([t.detach().cpu() for t in (result, *gradients)])
    assert [torch.equal(one, other) for one, other in zip(*found, strict=True)] == [True] * 3


def test_asked_before_it_runs_it_is_the_device_own():
    x, w = torch.rand(1, 2, 4, 4, device="mps"), torch.rand(2, 2, 3, 3, device="mps")
    ask = torch._C._select_conv_backend
    assert ask(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1) == torch._C._ConvBackend.Mps
    assert ask(x, w, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1).name.startswith("MpsTranspose")
    assert ask(x.cpu(), w.cpu(), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1) != torch._C._ConvBackend.Mps
