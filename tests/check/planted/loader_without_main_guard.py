"""Trains from a loader with a worker, in a script without functions."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("mps")
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
model = nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for inputs, targets in DataLoader(data, batch_size=16, num_workers=1):  # finds: workers-without-main-guard
    loss = nn.functional.mse_loss(model(inputs.to(device)), targets.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
