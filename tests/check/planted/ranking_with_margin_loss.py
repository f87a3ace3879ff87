# environment: PYTORCH_ENABLE_MPS_FALLBACK=1
"""Trains a classifier with a margin loss, which MPS has no kernel for."""

import torch
from torch import nn
from torch.nn import functional

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Linear(20, 4).to(device)
inputs = torch.randn(32, 20, device=device)
labels = torch.randint(4, (32,), device=device)

with torch.no_grad():
    scores = model(inputs)
    loss = functional.multi_margin_loss(scores, labels)  # finds: fallback-operator

print(f"loss before training {loss.item():.3f}")
