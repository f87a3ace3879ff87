"""Functions in front of PyTorch's own."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import torch

_TORCH = os.path.dirname(torch.__file__) + os.sep


def wrap(owner: Any, name: str, around: Callable) -> None:
    """`owner.name(...)` becomes `around(original, ...)`."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        return around(original, *args, **kwargs)

    setattr(owner, name, wrapper)


def between(begin: Callable[[], None], end: Callable[[], None]) -> Callable:
    """For `wrap`: the call, with something before and after it."""

    def around(original, *args, **kwargs):
        begin()
        try:
            return original(*args, **kwargs)
        finally:
            end()

    return around


def wrap_backward(around: Callable) -> None:
    """The function behind backward() and torch.autograd.grad(). Both modules hold its name."""
    wrap(torch.autograd.graph, "_engine_run_backward", around)
    torch.autograd._engine_run_backward = torch.autograd.graph._engine_run_backward


def called_by_torch(frames: int) -> bool:
    """Whether the function so many frames above was called by PyTorch itself, not by the program."""
    return sys._getframe(frames + 1).f_code.co_filename.startswith(_TORCH)
