"""The line of a backward pass, and copies that a program cannot help."""

from __future__ import annotations

import torch

from anymps._wrap import between, wrap, wrap_backward


def install(module) -> None:
    unchecked = between(module.begin_unchecked_copies, module.end_unchecked_copies)

    def run_backward(original, *args, **kwargs):
        module.remember_backward_site()
        return original(*args, **kwargs)

    wrap(torch.nn.Module, "load_state_dict", unchecked)
    wrap_backward(run_backward)
