"""Waits for the device that Python knows more of than the operators: printing, and the line of a backward pass."""

from __future__ import annotations

import torch

from anymps._check._wrap import wrap, wrap_backward


def _between(begin, end):
    def around(original, *args, **kwargs):
        begin()
        try:
            return original(*args, **kwargs)
        finally:
            end()

    return around


def install(module) -> None:
    printing = _between(module.begin_printing, module.end_one_wait)
    inevitably = _between(module.begin_inevitable_waits, module.end_one_wait)
    unchecked = _between(module.begin_unchecked_copies, module.end_unchecked_copies)

    def print_tensor(original, tensor, *args, **kwargs):
        if tensor.device.type != "mps":
            return original(tensor, *args, **kwargs)
        return printing(original, tensor, *args, **kwargs)

    def run_backward(original, *args, **kwargs):
        module.remember_backward_site()
        return original(*args, **kwargs)

    wrap(torch._tensor_str, "_str", print_tensor)
    # It looks whether a gradient overflowed, each time.
    for method in ("step", "update", "unscale_"):
        wrap(torch.amp.GradScaler, method, inevitably)
    wrap(torch.nn.Module, "load_state_dict", unchecked)
    wrap_backward(run_backward)
