"""Attends to earlier tokens only; the mask lives on the host."""

import torch
from torch import nn
from torch.nn import functional

LENGTH = 64


class CausalAttention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.project = nn.Linear(width, 3 * width)
        self.mask = torch.ones(LENGTH, LENGTH).tril().log()

    def forward(self, tokens):
        query, key, value = self.project(tokens).chunk(3, dim=-1)
        mask = self.mask.to(tokens.device)  # finds: repeated-copy
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = CausalAttention(32).to("mps").eval()
    tokens = torch.randn(2, LENGTH, 32, device="mps")
    with torch.inference_mode():
        for _ in range(20):
            tokens = tokens + model(tokens)
    print(f"mean {tokens.mean().item():.3f}")
