"""Trains a classifier; the loss is fetched every fifty steps."""

import torch
from torch import nn

STEPS, REPORT = 200, 50


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    total = torch.zeros((), device=device)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(64, 16, device=device)
        labels = inputs[:, :4].argmax(dim=1)
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if step % REPORT == 0:
            print(f"step {step}: mean loss {total.item() / REPORT:.3f}")
            total.zero_()


if __name__ == "__main__":
    main()
