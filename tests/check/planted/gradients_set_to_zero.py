"""Trains with gradients that are set to zero, as PyTorch did before 2.0."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
inputs = torch.randn(32, 64, device=device)
targets = inputs.mean(dim=1, keepdim=True)

for _ in range(10):
    optimizer.zero_grad(set_to_none=False)  # finds: zero-grad-keeps-memory
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
