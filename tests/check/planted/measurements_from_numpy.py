# status: 2
"""Fits a line to measurements that come from NumPy."""

import numpy
import torch
from torch import nn

random = numpy.random.default_rng(0)
times = random.uniform(0, 10, size=(200, 1))
values = 3 * times + 1 + random.normal(0, 0.1, size=times.shape)

device = torch.device("mps")
inputs = torch.from_numpy(times).to(device)  # finds: float64-refused
targets = torch.from_numpy(values).to(device)

model = nn.Linear(1, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(50):
    loss = (model(inputs) - targets).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(model.weight.item(), model.bias.item())
