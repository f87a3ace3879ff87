"""Waits for the device that Python knows more of than the operators, in a traced process."""

from __future__ import annotations

import torch

from anymps._wrap import between, wrap


def install(module) -> None:
    printing = between(module.begin_printing, module.end_one_wait)
    inevitably = between(module.begin_inevitable_waits, module.end_one_wait)

    def print_tensor(original, tensor, *args, **kwargs):
        if tensor.device.type != "mps":
            return original(tensor, *args, **kwargs)
        return printing(original, tensor, *args, **kwargs)

    wrap(torch._tensor_str, "_str", print_tensor)
    # It looks whether a gradient overflowed, each time.
    for method in ("step", "update", "unscale_"):
        wrap(torch.amp.GradScaler, method, inevitably)
