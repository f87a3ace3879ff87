"""Asks for more than the recommended share of the memory."""

import torch
from torch import nn


def prepare(fraction: float) -> None:
    torch.manual_seed(0)
    torch.mps.set_per_process_memory_fraction(fraction)  # finds: memory-fraction


def main() -> None:
    prepare(fraction=1.5)
    model = nn.GRU(16, 32, batch_first=True).to("mps").eval()
    with torch.no_grad():
        outputs, _ = model(torch.randn(4, 10, 16, device="mps"))
    print("last state", outputs[:, -1].mean().item())


if __name__ == "__main__":
    main()
