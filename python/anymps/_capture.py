"""Names for Metal captures that guides use and PyTorch has elsewhere."""

from __future__ import annotations

import contextlib
import functools
import warnings

import torch


@functools.cache
def _say_where(name: str, frames: int) -> None:
    warnings.warn(
        f"torch.mps.{name} is not there on a Mac, where PyTorch has it as torch.mps.profiler.{name}",
        stacklevel=frames,
    )


def is_metal_capture_enabled() -> bool:
    _say_where("is_metal_capture_enabled", 3)
    return torch.mps.profiler.is_metal_capture_enabled()


@contextlib.contextmanager
def metal_capture(fname: str = "capture"):
    _say_where("metal_capture", 4)
    with torch.mps.profiler.metal_capture(fname):
        yield


def _with_a_name(original):
    @functools.wraps(original)
    def named(fname: str = "capture"):
        return original(fname)

    return named


def attach() -> None:
    torch.mps.profiler.metal_capture = _with_a_name(torch.mps.profiler.metal_capture)
    torch.mps.is_metal_capture_enabled = is_metal_capture_enabled
    torch.mps.metal_capture = metal_capture
