"""Waits for the device that Python knows more of than the operators: printing, and the line of a backward pass."""

from __future__ import annotations

import torch

from anymps._check._wrap import wrap


def install(module) -> None:
    def print_tensor(original, tensor, *args, **kwargs):
        if tensor.device.type != "mps":
            return original(tensor, *args, **kwargs)
        module.begin_printing()
        try:
            return original(tensor, *args, **kwargs)
        finally:
            module.end_one_wait()

    def inevitably(original, *args, **kwargs):
        module.begin_inevitable_waits()
        try:
            return original(*args, **kwargs)
        finally:
            module.end_one_wait()

    def run_backward(original, *args, **kwargs):
        module.remember_backward_site()
        return original(*args, **kwargs)

    def load_state_dict(original, *args, **kwargs):
        module.begin_unchecked_copies()
        try:
            return original(*args, **kwargs)
        finally:
            module.end_unchecked_copies()

    wrap(torch._tensor_str, "_str", print_tensor)
    # It looks whether a gradient overflowed, each time.
    for method in ("step", "update", "unscale_"):
        wrap(torch.amp.GradScaler, method, inevitably)
    wrap(torch.nn.Module, "load_state_dict", load_state_dict)
    # Both modules hold the name.
    wrap(torch.autograd.graph, "_engine_run_backward", run_backward)
    torch.autograd._engine_run_backward = torch.autograd.graph._engine_run_backward
