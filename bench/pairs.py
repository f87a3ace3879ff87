"""What is measured: each entry makes one callable per device that does the same work."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

OPERATOR, STEP, SMALL_STEP, MEMORY = "operator", "training step", "small training step", "memory"


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


def cnn(device: str, batch: int, size: int):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    data = {"x": torch.randn(batch, 3, size, size), "y": torch.randint(10, (batch,))}
    return _step(net, data, lambda m, b: F.cross_entropy(m(b["x"]), b["y"]), device)


def mlp(device: str, batch: int, width: int):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10),
    )  # fmt: skip
    data = {"x": torch.randn(batch, 784), "y": torch.randint(10, (batch,))}
    return _step(net, data, lambda m, b: F.cross_entropy(m(b["x"]), b["y"]), device)


def _tokens(batch: int, length: int) -> dict:
    return {"x": torch.randint(500, (batch, length)), "y": torch.randint(500, (batch, length))}


def _token_loss(module: nn.Module, batch: dict) -> torch.Tensor:
    return F.cross_entropy(module(batch["x"]).flatten(0, 1), batch["y"].flatten())


def transformer(device: str, batch: int, length: int, width: int):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
    net = nn.Sequential(
        nn.Embedding(500, width), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(width, 500)
    )
    return _step(net, _tokens(batch, length), _token_loss, device)


class _Lstm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.embed = nn.Embedding(500, width // 2)
        self.rnn, self.head = nn.LSTM(width // 2, width, batch_first=True), nn.Linear(width, 500)

    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[0])


def lstm(device: str, batch: int, length: int, width: int):
    torch.manual_seed(0)
    return _step(_Lstm(width), _tokens(batch, length), _token_loss, device)


def wide_cnn(device: str):
    """64 channels over 64 x 64 pixels: 32 MiB a result, which malloc takes from the system anew."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    data = {"x": torch.randn(32, 3, 64, 64), "y": torch.randint(10, (32,))}
    return _step(net, data, lambda m, b: F.cross_entropy(m(b["x"]), b["y"]), device)


def additions(device: str, mebibytes: int):
    """Eight additions, each to the last one's result; the results live to the end, as activations do."""
    x = torch.randn(mebibytes << 18).to(device)

    def chain():
        results = [x]
        for _ in range(8):
            results.append(results[-1] + x)

    return chain


WORKLOADS = (
    Workload("x + 1", OPERATOR, add_scalar),
    Workload("x + y", OPERATOR, add_tensors),
    Workload("one-element add", OPERATOR, add_one_element),
    Workload("view", OPERATOR, view),
    Workload("CNN", STEP, partial(cnn, batch=32, size=64)),
    Workload("transformer", STEP, partial(transformer, batch=16, length=128, width=256)),
    Workload("LSTM", STEP, partial(lstm, batch=32, length=64, width=256)),
    # Steps of a few milliseconds, where what is fixed per step shows most.
    Workload("small MLP", SMALL_STEP, partial(mlp, batch=64, width=256)),
    Workload("small CNN", SMALL_STEP, partial(cnn, batch=16, size=32)),
    Workload("small transformer", SMALL_STEP, partial(transformer, batch=8, length=64, width=128)),
    Workload("small LSTM", SMALL_STEP, partial(lstm, batch=8, length=32, width=128)),
    # Where the cache of the device's memory shows.
    Workload("wide CNN", MEMORY, wide_cnn),
    Workload("8 adds of 16 MiB", MEMORY, partial(additions, mebibytes=16)),
    Workload("8 adds of 32 MiB", MEMORY, partial(additions, mebibytes=32)),
)
