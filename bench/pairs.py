"""What is measured: each entry makes one callable per device that does the same work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

OPERATOR, STEP = "operator", "training step"


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    kind: str
    make: Callable[[str], Callable[[], object]]  # device -> one call of the work


def add_scalar(device: str):
    x = torch.randn(1000).to(device)
    return lambda: x + 1


def add_tensors(device: str):
    x, y = torch.randn(1000).to(device), torch.randn(1000).to(device)
    return lambda: x + y


def add_one_element(device: str):
    x, y = torch.randn(1).to(device), torch.randn(1).to(device)
    return lambda: x + y


def view(device: str):
    x = torch.randn(10, 100).to(device)
    return lambda: x.view(100, 10)


def _step(module: nn.Module, batch: dict, loss_of: Callable, device: str):
    module = module.to(device)
    batch = {k: v.to(device) for k, v in batch.items()}
    optimiser = torch.optim.SGD(module.parameters(), lr=1e-3, momentum=0.9)

    def step():
        optimiser.zero_grad()
        loss_of(module, batch).backward()
        optimiser.step()

    return step


def cnn(device: str):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    batch = {"x": torch.randn(16, 3, 32, 32), "y": torch.randint(10, (16,))}
    return _step(net, batch, lambda m, b: F.cross_entropy(m(b["x"]), b["y"]), device)


def transformer(device: str):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    net = nn.Sequential(
        nn.Embedding(500, 128), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(128, 500)
    )
    batch = {"x": torch.randint(500, (8, 64)), "y": torch.randint(500, (8, 64))}
    return _step(net, batch, lambda m, b: F.cross_entropy(m(b["x"]).flatten(0, 1), b["y"].flatten()), device)


class _Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.head = nn.Embedding(500, 64), nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 500)

    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[0])


def lstm(device: str):
    torch.manual_seed(0)
    batch = {"x": torch.randint(500, (8, 32)), "y": torch.randint(500, (8, 32))}
    return _step(_Lstm(), batch, lambda m, b: F.cross_entropy(m(b["x"]).flatten(0, 1), b["y"].flatten()), device)


WORKLOADS = (
    Workload("x + 1", OPERATOR, add_scalar),
    Workload("x + y", OPERATOR, add_tensors),
    Workload("one-element add", OPERATOR, add_one_element),
    Workload("view", OPERATOR, view),
    Workload("CNN", STEP, cnn),
    Workload("transformer", STEP, transformer),
    Workload("LSTM", STEP, lstm),
)
