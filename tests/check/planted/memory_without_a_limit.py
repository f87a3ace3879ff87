"""Lifts the limit of the memory before a large model is loaded."""

import torch
from torch import nn

torch.mps.set_per_process_memory_fraction(0.0)  # finds: memory-fraction

torch.manual_seed(0)
model = nn.TransformerEncoderLayer(32, nhead=4, dim_feedforward=64, batch_first=True).to("mps").eval()
tokens = torch.randn(2, 16, 32, device="mps")
with torch.no_grad():
    encoded = model(tokens)
print(f"{torch.mps.current_allocated_memory() >> 10} KiB in tensors, mean {encoded.mean().item():.3f}")
