"""Which algorithm a convolution of the device takes, for those who ask before it runs: torch.compile lays out by it."""

from __future__ import annotations

import functools

import torch


def attach() -> None:
    core = torch._C
    select = core._select_conv_backend
    backends = core._ConvBackend.__members__
    # The second one has this name in PyTorch 2.13.
    transposing = backends.get("MpsTranspose", backends.get("MpsTranspose,"))

    @functools.wraps(select)
    def select_conv_backend(input, weight, bias, stride, padding, dilation, transposed, *rest, **named):
        """A wheel built without MPS answers `Overrideable`, for which PyTorch expects contiguous results."""
        chosen = select(input, weight, bias, stride, padding, dilation, transposed, *rest, **named)
        if input.device.type != "mps" or chosen != core._ConvBackend.Overrideable:
            return chosen
        return transposing if transposed else core._ConvBackend.Mps

    core._select_conv_backend = select_conv_backend
