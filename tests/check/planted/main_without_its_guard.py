"""Evaluates a model with a worker for the data; the guard around main() was forgotten."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    model = nn.Linear(8, 3).to(device).eval()
    data = TensorDataset(torch.randn(64, 8), torch.randint(3, (64,)))
    right = torch.zeros((), dtype=torch.int64, device=device)
    loader = DataLoader(data, batch_size=32, num_workers=1)
    with torch.inference_mode():
        for inputs, labels in loader:  # finds: workers-without-main-guard
            right += (model(inputs.to(device)).argmax(dim=1) == labels.to(device)).sum()
    print(f"{right.item()} of {len(data)} right")


main()
