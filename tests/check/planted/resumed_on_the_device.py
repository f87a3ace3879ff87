"""Goes on from a checkpoint that is loaded to the device, and with it the counters that Adam keeps on the host."""

import pathlib
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Linear(8, 1).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
inputs = torch.randn(64, 8, device=device)


def train(steps: int) -> None:
    for _ in range(steps):
        loss = (model(inputs) - inputs.mean(dim=1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # finds: synchronisation
    print(f"loss {loss.item():.4f}")


train(steps=10)
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "optimizer.pt"
    torch.save(optimizer.state_dict(), path)
    optimizer.load_state_dict(torch.load(path, map_location=device))
train(steps=20)
