"""Three training steps of one entry on one device."""

from __future__ import annotations

import copy
import dataclasses

import optimisers
import torch
from tour import Entry

STEPS = 3


@dataclasses.dataclass
class Trained:
    losses: list[torch.Tensor]
    state: dict[str, torch.Tensor]  # parameters and buffers, on the CPU


def train(entry: Entry, device: str, steps: int = STEPS, during=None) -> Trained:
    """`during` is a context manager for the steps themselves: what is copied in and out lies outside it."""
    model = entry.build()
    module = copy.deepcopy(model.module).to(device)
    batch = {name: value.to(device) for name, value in model.batch.items()}
    parts = [(phase, module.get_submodule(phase.part)) for phase in model.phases]
    stepping = [(phase.loss, optimisers.make(entry.optimiser, part.parameters())) for phase, part in parts]

    losses = []

    def run() -> None:
        for _ in range(steps):
            for loss_of, optimiser in stepping:
                optimiser.zero_grad()
                loss = loss_of(module, batch)
                loss.backward()
                optimiser.step()
                losses.append(loss.detach())

    if during is None:
        run()
    else:
        with during:
            run()
    return Trained([x.cpu() for x in losses], {k: v.cpu() for k, v in module.state_dict().items()})
