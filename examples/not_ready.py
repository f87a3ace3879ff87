"""A training that would not do well on a Mac: `anymps check examples/not_ready.py` says why, in one run."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4)).to("mps")
optimizer = torch.optim.Adam(model.parameters())
history = []

for _ in range(40):
    x = torch.randn(64, 16, device="mps")
    y = model(x)
    covariance = y.T @ y / len(y)
    loss = (torch.linalg.eigvalsh(covariance) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())

print(f"loss {history[0]:.3f} -> {history[-1]:.3f}")
