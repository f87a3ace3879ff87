# finds-anywhere: environment-unknown
# environment: PYTORCH_MPS_HIGH_WATERMARK=0.8
"""Averages a picture's neighbourhoods, with a limit set under a wrong name."""

import torch
from torch.nn import functional

torch.manual_seed(0)
picture = torch.rand(1, 1, 64, 64, device="mps")
blurred = functional.avg_pool2d(picture, 5, stride=1, padding=2)
print(f"spread {picture.std().item():.3f}, then {blurred.std().item():.3f}")
