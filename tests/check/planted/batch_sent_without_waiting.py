"""Fills the same memory for each batch, while the device may still read the one before."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Conv2d(3, 4, 3, padding=1).to(device).eval()

brightest = torch.zeros((), device=device)
with torch.inference_mode():
    pictures = torch.empty(8, 3, 16, 16)
    for _ in range(4):
        pictures.uniform_()
        on_device = pictures.to(device, non_blocking=True)  # finds: non-blocking-to-device
        brightest = torch.maximum(brightest, model(on_device).amax())
print(f"brightest {brightest.item():.3f}")
