# finds-anywhere: watermark
# environment: PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.7
# status: 2
"""Smooths a signal with a limit from outside that lies below the low watermark."""

import torch
from torch.nn import functional

torch.manual_seed(0)
signal = torch.randn(1, 1, 256, device="mps")
window = torch.ones(1, 1, 9, device="mps") / 9
smooth = functional.conv1d(signal, window, padding=4)
print(f"spread {smooth.std().item():.3f}")
