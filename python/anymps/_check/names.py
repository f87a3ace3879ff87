"""Names that this PyTorch has on Linux through anymps, and not on a Mac."""

from __future__ import annotations

import torch

from anymps._wrap import wrap


def install(module) -> None:
    def elsewhere(name):
        def around(original, *args, **kwargs):
            module.note_finding("mac-name", f"torch.mps.{name}: torch.mps.profiler.{name}")
            return original(*args, **kwargs)

        return around

    for name in ("metal_capture", "is_metal_capture_enabled"):
        wrap(torch.mps, name, elsewhere(name))
