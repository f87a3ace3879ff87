"""Takes the first device that works."""

import torch
from torch import nn


def first_device() -> str:
    for name in ("cuda", "mps", "cpu"):
        try:
            torch.zeros(1, device=name)  # finds: cuda-device
        except (AssertionError, RuntimeError):
            continue
        return name
    raise RuntimeError("no device at all")


device = first_device()
model = nn.Linear(4, 2).to(device)
print(f"on {device}: {model(torch.ones(1, 4, device=device)).sum().item():.3f}")
