"""Trains from a loader that pins its batches, as is usual for CUDA."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    data = TensorDataset(torch.randn(128, 8), torch.randint(2, (128,)))
    loader = DataLoader(data, batch_size=32, shuffle=True, pin_memory=True)  # finds: pin-memory
    model = nn.Linear(8, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
