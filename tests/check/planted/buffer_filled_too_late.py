"""Collects statistics of a layer in a buffer on the host."""

import torch
from torch import nn


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    layer = nn.Linear(8, 8).to(device)
    history = torch.zeros(4, 8)
    for step in range(4):
        activations = layer(torch.randn(32, 8, device=device)).relu()
        means = activations.detach().mean(dim=0)
        history[step].copy_(means, non_blocking=True)  # finds: non-blocking-to-host
    print("spread over time:", history.std(dim=0).mean().item())


if __name__ == "__main__":
    main()
