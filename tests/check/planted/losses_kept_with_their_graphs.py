"""Trains and keeps every loss for a curve, and with it everything that it came from."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

curve = []
for _ in range(60):
    inputs = torch.randn(512, 64, device=device)
    loss = nn.functional.mse_loss(model(inputs).sin(), inputs.mean(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()  # finds: memory-growth
    curve.append(loss)
print(f"loss {curve[0].item():.3f} at first, {curve[-1].item():.3f} at last")
