"""Normalises a table from NumPy in single precision from the start, and sends it once."""

import numpy
import torch
from torch import nn


def load(rows: int, columns: int) -> numpy.ndarray:
    random = numpy.random.default_rng(0)
    return random.standard_normal((rows, columns), dtype=numpy.float32)


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    table = torch.from_numpy(load(512, 16)).to(device)
    table = (table - table.mean(dim=0)) / table.std(dim=0)
    model = nn.Linear(16, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        for batch in table.split(64):
            loss = (model(batch) - batch.sum(dim=1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"weights {numpy.round(model.weight.detach().cpu().numpy(), 2)}")


if __name__ == "__main__":
    main()
