# finds-anywhere: environment-unread
# environment: PYTORCH_MPS_LOG_LEVEL=0
"""Sorts on the device, with a variable set that a guide names."""

import torch

torch.manual_seed(0)
values = torch.rand(1000, device="mps")
ordered, _ = values.sort()
gaps = ordered.diff()
print(f"largest gap {gaps.amax().item():.4f}")
