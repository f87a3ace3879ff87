"""Names that this PyTorch has on Linux through anymps, and not on a Mac; variables that nobody reads there."""

from __future__ import annotations

import os

import torch

from anymps import _environment
from anymps._check._wrap import wrap


def install(module) -> None:
    def elsewhere(name):
        def around(original, *args, **kwargs):
            module.note_finding("mac-name", f"torch.mps.{name}: torch.mps.profiler.{name}")
            return original(*args, **kwargs)

        return around

    for name in ("metal_capture", "is_metal_capture_enabled"):
        wrap(torch.mps, name, elsewhere(name))
    for name in sorted(os.environ):
        _variable(module, name)


def _variable(module, name: str) -> None:
    if name == _environment.LOG_LEVEL:
        module.note_finding_at("", "environment-unread", name)
    elif nearest := _environment.nearest_known(name):
        module.note_finding_at("", "environment-unknown", f"{name}: nearest is {nearest}")
