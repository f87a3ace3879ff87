"""Runs a transformer's feed-forward part in half precision, all sizes being multiples of eight."""

import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, tokens):
        return tokens + self.down(nn.functional.gelu(self.up(self.norm(tokens))))


def main() -> None:
    torch.manual_seed(0)
    model = FeedForward(64).to(device="mps", dtype=torch.float16).eval()
    tokens = torch.randn(4, 32, 64, device="mps", dtype=torch.float16)
    with torch.inference_mode():
        for _ in range(12):
            tokens = model(tokens)
    print(f"mean {tokens.float().mean().item():.4f}")


if __name__ == "__main__":
    main()
