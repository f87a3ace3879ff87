"""Gradients of operators whose front end the device replaces."""

import torch
import torch.nn.functional as F


def on_both(function, *inputs):
    """Gradients of the sum of the function's results, on the CPU and on the device."""
    found = []
    for device in ("cpu", "mps"):
        leaves = [x.detach().to(device).requires_grad_() for x in inputs]
        function(*leaves).sum().backward()
        found.append([x.grad.cpu() for x in leaves])
    return zip(*found, strict=True)


def test_rms_norm():
    torch.manual_seed(0)
    for cpu, mps in on_both(lambda x, w: F.rms_norm(x, (4,), w), torch.randn(3, 4), torch.randn(4)):
        assert torch.equal(cpu, mps)


def test_rms_norm_without_weight():
    torch.manual_seed(0)
    for cpu, mps in on_both(lambda x: F.rms_norm(x, (4,)), torch.randn(3, 4)):
        assert torch.equal(cpu, mps)


def test_rms_norm_without_gradient_is_one_operator():
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x, w = torch.randn(3, 4, device="mps"), torch.ones(4, device="mps")
    with Watch():
        F.rms_norm(x, (4,), w)
    assert seen == [torch.ops.aten._fused_rms_norm.default]


def test_svd(python):
    # In a process of its own: it warns once in a process, and other tests wait for that warning.
    code = """
import torch
torch.manual_seed(0)
x = torch.randn(3, 3)
here, there = x.clone().requires_grad_(), x.to("mps").requires_grad_()
torch.linalg.svd(here).S.sum().backward()
torch.linalg.svd(there).S.sum().backward()
assert torch.equal(there.grad.cpu(), here.grad)
"""
    python(code)
