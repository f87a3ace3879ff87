"""Trains for a few epochs and empties the cache after each."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Linear(16, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for epoch in range(3):
    for _ in range(4):
        inputs = torch.randn(32, 16, device=device)
        loss = (model(inputs) - inputs.mean(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.empty_cache()  # finds: cuda-call-idle
    print(f"epoch {epoch}: loss {loss.item():.3f}")
