"""Scores the rows of a table that was computed in double precision."""

import numpy
import torch
from torch import nn


def load_table(rows: int = 512, columns: int = 8) -> numpy.ndarray:
    random = numpy.random.default_rng(0)
    table = random.normal(size=(rows, columns))
    return (table - table.mean(axis=0)) / table.std(axis=0)


torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).to(device).eval()
rows = torch.from_numpy(load_table()).float().to(device)  # finds: float64-converted

with torch.inference_mode():
    scores = model(rows).squeeze(1)
print(f"best row {scores.argmax().item()}")
