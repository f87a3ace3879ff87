"""Every optimiser that the tour uses, with the variants that MPS has: for-each and fused."""

from __future__ import annotations

import torch
from torch import optim

OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.05, foreach=False),
    "sgd-foreach": lambda p: optim.SGD(p, lr=0.05, foreach=True),
    "sgd-fused": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, fused=True),
    "momentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, foreach=False),
    "nesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda p: optim.Adam(p, lr=1e-3, foreach=False),
    "adam-foreach": lambda p: optim.Adam(p, lr=1e-3, foreach=True),
    "adam-fused": lambda p: optim.Adam(p, lr=1e-3, fused=True),
    "adam-amsgrad": lambda p: optim.Adam(p, lr=1e-3, amsgrad=True, foreach=False),
    "adamw": lambda p: optim.AdamW(p, lr=1e-3, foreach=False),
    "adamw-foreach": lambda p: optim.AdamW(p, lr=1e-3, foreach=True),
    "adamw-fused": lambda p: optim.AdamW(p, lr=1e-3, fused=True),
    "rmsprop": lambda p: optim.RMSprop(p, lr=1e-3, momentum=0.5, foreach=False),
    "rmsprop-foreach": lambda p: optim.RMSprop(p, lr=1e-3, centered=True, foreach=True),
    "adagrad": lambda p: optim.Adagrad(p, lr=1e-2, foreach=False),
    "adamax": lambda p: optim.Adamax(p, lr=1e-3, foreach=False),
    "adamax-foreach": lambda p: optim.Adamax(p, lr=1e-3, foreach=True),
    "nadam": lambda p: optim.NAdam(p, lr=1e-3, foreach=False),
    "nadam-foreach": lambda p: optim.NAdam(p, lr=1e-3, foreach=True),
    "radam": lambda p: optim.RAdam(p, lr=1e-3, foreach=False),
    "adadelta": lambda p: optim.Adadelta(p, foreach=False),
    "asgd": lambda p: optim.ASGD(p, lr=1e-2, foreach=False),
    "rprop": lambda p: optim.Rprop(p, lr=1e-3, foreach=False),
}


def make(name: str, parameters) -> torch.optim.Optimizer:
    return OPTIMISERS[name](list(parameters))
