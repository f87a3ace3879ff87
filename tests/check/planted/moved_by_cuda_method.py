"""Builds a model for training; a machine without CUDA gets it on mps."""

import torch
from torch import nn


def to_accelerator(model: nn.Module) -> nn.Module:
    try:
        return model.cuda()  # finds: cuda-device
    except (AssertionError, RuntimeError):
        return model.to("mps")


def main() -> None:
    torch.manual_seed(0)
    model = to_accelerator(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)))
    device = next(model.parameters()).device
    outputs = model(torch.randn(4, 8, device=device))
    print(device, outputs.mean().item())


if __name__ == "__main__":
    main()
