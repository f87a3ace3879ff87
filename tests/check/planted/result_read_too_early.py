"""Averages the device's predictions with NumPy; the copy to the host does not wait."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1)).to(device).eval()
inputs = torch.randn(256, 16, device=device)

with torch.inference_mode():
    predictions = model(inputs)
on_host = predictions.to("cpu", non_blocking=True)  # finds: non-blocking-to-host
print(f"mean prediction {on_host.numpy().mean():.4f}")
