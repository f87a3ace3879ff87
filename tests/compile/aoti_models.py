"""The models that test_aoti.py compiles. They say the same in each process: their weights come from a seed."""

import torch
from torch.nn import functional


def inputs(rows: int, columns: int) -> torch.Tensor:
    """As examples/cpp/package.cpp makes them."""
    return torch.linspace(-1, 1, rows * columns).reshape(rows, columns)


class Small(torch.nn.Module):
    """Matrix products, a chain of pointwise operators, reductions, and constants of odd sizes.

    Those of eight numbers or fewer Inductor writes into its code."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(8, 17)
        self.second = torch.nn.Linear(17, 11)
        self.register_buffer("scale", torch.linspace(0.5, 2, 17))
        self.eval().requires_grad_(False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden = functional.gelu(self.first(x)) * self.scale
        return torch.softmax(self.second(hidden), 1), hidden.sum(1)


class Ranked(torch.nn.Module):
    """Operators that Inductor has no kernel of its own for, one of which makes two tensors."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values, order = torch.topk(x.sin(), 3)
        return values, order, torch.cat([x[0], values.flatten()]).sort().values
