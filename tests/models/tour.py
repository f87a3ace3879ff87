"""The table of models: what one entry is, and how entries get into it.

An entry is a function that builds everything on the CPU, so that both devices start from the same bits: a module, a
batch, and the losses of one training step. Nothing in a model is random after that: dropout is 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import nn

Batch = dict[str, torch.Tensor]


@dataclasses.dataclass
class Phase:
    """One optimiser's part of a training step."""

    loss: Callable[[nn.Module, Batch], torch.Tensor]
    part: str = ""  # name of the submodule that it trains; "" is all of it


@dataclasses.dataclass
class Model:
    module: nn.Module
    batch: Batch
    phases: list[Phase]


@dataclasses.dataclass(frozen=True)
class Entry:
    name: str
    build: Callable[[], Model]
    optimiser: str
    # Equal to the bit when empty; otherwise why within 1e-5 is right.
    close_because: str = ""
    must_call: tuple[str, ...] = ()  # aten operators that the MPS route is known to take


TOUR: list[Entry] = []


def entry(optimiser: str, close_because: str = "", must_call: tuple[str, ...] = ()):
    """Puts a builder into the tour. It returns (module, batch, loss) or (module, batch, phases)."""

    def add(build: Callable) -> Callable:
        def model() -> Model:
            torch.manual_seed(len(build.__name__))
            module, batch, loss = build()
            phases = loss if isinstance(loss, list) else [Phase(loss)]
            return Model(module.train(), batch, phases)

        TOUR.append(Entry(build.__name__, model, optimiser, close_because, must_call))
        return build

    return add
