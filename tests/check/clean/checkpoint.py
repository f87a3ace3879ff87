"""Trains, saves a checkpoint, and goes on from it."""

import pathlib
import tempfile

import torch
from torch import nn


def make(device: torch.device):
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    return model, torch.optim.Adam(model.parameters(), lr=1e-2)


def train(model: nn.Module, optimizer: torch.optim.Optimizer, inputs: torch.Tensor, steps: int) -> float:
    targets = inputs.mean(dim=1, keepdim=True)
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    inputs = torch.randn(64, 8, device=device)
    model, optimizer = make(device)
    print(f"before {train(model, optimizer, inputs, 10):.4f}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "checkpoint.pt"
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
        model, optimizer = make(device)
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    print(f"after {train(model, optimizer, inputs, 10):.4f}")


if __name__ == "__main__":
    main()
