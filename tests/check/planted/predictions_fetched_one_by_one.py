"""Predicts in batches and fetches each batch's answer at once."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 3)).to(device).eval()
inputs = torch.randn(320, 16)

answers = []
with torch.inference_mode():
    for batch in inputs.split(16):
        scores = model(batch.to(device))
        answers.append(scores.argmax(dim=1).cpu())  # finds: synchronisation
print(torch.cat(answers).bincount(minlength=3).tolist())
