"""Stops the training when the loss has not fallen for a while."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs = torch.randn(128, 8, device=device)
targets = inputs @ torch.linspace(-1, 1, 8, device=device).unsqueeze(1)

best = torch.tensor(float("inf"), device=device)
patience = 5
for _ in range(60):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss < best:  # finds: synchronisation
        best, patience = loss.detach(), 5
    else:
        patience -= 1
    if patience == 0:
        break
print(f"best loss {best.item():.4f}")
