"""Sets the memory's limit when the first tensor is already there."""

import os

import torch

weights = torch.randn(64, 64, device="mps")
os.environ.setdefault("PYTORCH_MPS_LOW_WATERMARK_RATIO", "1.2")  # finds: environment-too-late

inputs = torch.ones(8, 64, device="mps")
outputs = (inputs @ weights).sigmoid()
print(f"mean {outputs.mean().item():.3f}")
