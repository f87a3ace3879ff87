"""Compares two runs from one seed."""

import random

import torch


def set_seeds(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)  # finds: cuda-call-idle


def run() -> torch.Tensor:
    set_seeds(7)
    weights = torch.randn(32, 32, device="mps")
    inputs = torch.randn(8, 32, device="mps")
    return (inputs @ weights).relu().sum()


if __name__ == "__main__":
    print("the same:", torch.equal(run(), run()))
