"""Infers in half precision, or so it seems."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).to(device).eval()
inputs = torch.randn(16, 64, device=device)

with torch.inference_mode(), torch.autocast("cuda", dtype=torch.float16):  # finds: cuda-amp
    outputs = model(inputs)
print(outputs.dtype, f"{outputs.mean().item():.3f}")
