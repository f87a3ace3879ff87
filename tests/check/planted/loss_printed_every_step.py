"""Trains a regression and adds up its loss as most tutorials do."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
inputs = torch.randn(64, 10, device=device)
targets = inputs.sum(dim=1, keepdim=True)

running_loss = 0.0
for _ in range(40):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    running_loss += loss.item()  # finds: synchronisation
print(f"mean loss {running_loss / 40:.3f}")
