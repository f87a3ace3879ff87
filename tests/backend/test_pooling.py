"""max_pool2d's gradient finds the maxima again; it must be the CPU's to the bit, ties and NaN included."""

import itertools

import pytest
import torch
import torch.nn.functional as F

SHAPES = [(2, 3, 8, 8), (1, 1, 5, 7), (3, 9, 6)]
WINDOWS = [(2, None, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), ((2, 3), (1, 2), (1, 1), (2, 1)), (3, 3, 0, 1)]


def gradient(x, window, ceil_mode):
    x = x.clone().requires_grad_()
    kernel, stride, padding, dilation = window
    out = F.max_pool2d(x, kernel, stride, padding, dilation, ceil_mode=ceil_mode)
    out.backward(torch.arange(out.numel(), dtype=torch.float32).reshape(out.shape).to(x.device, x.dtype) + 0.1)
    return x.grad.cpu()


@pytest.mark.parametrize(("shape", "window", "ceil_mode"), list(itertools.product(SHAPES, WINDOWS, [False, True])))
@pytest.mark.parametrize("values", ["random", "ties", "nan", "-inf", "channels_last", "half"])
def test_gradient_is_the_cpus(shape, window, ceil_mode, values):
    torch.manual_seed(0)
    x = torch.randn(shape)
    if values == "ties":
        x = x.round()
    elif values == "nan":
        x[..., ::3, ::2] = float("nan")
    elif values == "-inf":
        x[..., 1:, :] = float("-inf")
    elif values == "channels_last" and x.dim() == 4:
        x = x.to(memory_format=torch.channels_last)
    elif values == "half":
        x = x.half()
    assert torch.equal(gradient(x, window, ceil_mode), gradient(x.to("mps"), window, ceil_mode))
