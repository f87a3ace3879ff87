"""What a batch, or the output of a layer, holds."""

from __future__ import annotations

from typing import Any


def first_tensor(value: Any):
    """Of a batch or an output, depth first; None where it holds none."""
    import torch

    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            if (found := first_tensor(part)) is not None:
                return found
    return None
