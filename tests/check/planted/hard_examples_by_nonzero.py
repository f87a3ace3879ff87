"""Trains on the examples that are still wrong."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Linear(16, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
inputs = torch.randn(256, 16, device=device)
labels = torch.randint(4, (256,), device=device)

for _ in range(24):
    scores = model(inputs)
    wrong = (scores.argmax(dim=1) != labels).nonzero().squeeze(1)  # finds: synchronisation
    loss = nn.functional.cross_entropy(scores.index_select(0, wrong), labels.index_select(0, wrong))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss on the hard examples {loss.item():.3f}")
