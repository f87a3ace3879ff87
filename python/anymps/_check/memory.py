"""Limits on the device's memory that do not say what was meant."""

from __future__ import annotations

import os

import torch

from anymps._wrap import wrap

_HIGH = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"
_LOW = "PYTORCH_MPS_LOW_WATERMARK_RATIO"
# PyTorch's, in unified memory.
_DEFAULT_LOW = 1.4


def _ratio(name: str) -> float | None:
    try:
        return float(os.environ[name])
    except (KeyError, ValueError):  # a text that is no number is for the first tensor to report
        return None


def install(module) -> None:
    def set_fraction(original, fraction):
        if not 0 < fraction <= 1:
            module.note_finding("memory-fraction", str(fraction))
        return original(fraction)

    wrap(torch.mps, "set_per_process_memory_fraction", set_fraction)
    high = _ratio(_HIGH)
    if high is None:
        return
    if high == 0 or high > 1:
        module.note_finding_at("", "watermark", f"{_HIGH}={os.environ[_HIGH]}")
    elif _ratio(_LOW) is None and high < _DEFAULT_LOW:
        module.note_finding_at(
            "", "watermark", f"{_HIGH}={os.environ[_HIGH]} is below the default of {_LOW}, {_DEFAULT_LOW}"
        )
