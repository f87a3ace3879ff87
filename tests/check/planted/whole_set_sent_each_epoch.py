"""Trains on a set that fits into memory, and sends it again in each epoch."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
inputs = torch.randn(512, 32)
targets = torch.randn(512, 1, device=device)
model = nn.Linear(32, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _ in range(20):
    batch = inputs.to(device)  # finds: repeated-copy
    loss = nn.functional.mse_loss(model(batch), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
