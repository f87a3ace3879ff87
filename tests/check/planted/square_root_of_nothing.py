"""Brings points together by their distances; the distance of a point to itself has no gradient."""

import torch

torch.manual_seed(0)
points = torch.randn(6, 2, device="mps", requires_grad=True)
optimizer = torch.optim.SGD([points], lr=0.01)

for _ in range(5):
    differences = points.unsqueeze(0) - points.unsqueeze(1)
    distances = differences.square().sum(dim=-1).sqrt()
    loss = distances.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # finds: nonfinite-gradient

print("points", points.detach().mean().item())
