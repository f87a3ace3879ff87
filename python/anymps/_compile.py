"""`torch.compile(model, backend="mps")`, a name that guides use: Dynamo finds it by an entry point of this package."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any


@functools.cache
def _say_where() -> None:
    warnings.warn(
        'torch.compile(backend="mps") is not there on a Mac, where PyTorch has it as backend="inductor", the default',
        stacklevel=3,
    )


def mps(
    graph: Any, inputs: Sequence[Any], *, mode: str | None = None, options: dict | None = None
) -> Callable[..., Any]:
    """Inductor, with the `mode` and `options` that `torch.compile` takes for it."""
    import torch

    _say_where()
    return torch._TorchCompileInductorWrapper(mode, options, None)(graph, inputs)
