"""Has device-generic test classes made for mps too, where their file leaves mps out.

PyTorch makes such a class for each device that it finds, but for MPS only where the file says `allow_mps`. What a file
rules out by naming its devices (`only_for`, `except_for`) stays out.
"""

from __future__ import annotations

import functools


def install() -> None:
    """Call before the file is imported."""
    import torch.testing._internal.common_device_type as common_device_type

    real = common_device_type.instantiate_device_type_tests

    @functools.wraps(real)
    def instantiate(*args, **kwargs):
        return real(*args, **{**kwargs, "allow_mps": True})

    common_device_type.instantiate_device_type_tests = instantiate
