"""Loads data with workers that a Mac can start: all is picklable, and main() is guarded."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Waves(Dataset):
    """Sine waves; the class is the frequency."""

    def __init__(self, count: int, length: int) -> None:
        self.count = count
        self.times = torch.linspace(0, 1, length)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        label = index % 4
        return torch.sin(2 * torch.pi * (label + 1) * self.times), label


def stack(samples):
    waves, labels = zip(*samples, strict=True)
    return torch.stack(waves), torch.tensor(labels)


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    loader = DataLoader(Waves(128, 64), batch_size=16, shuffle=True, num_workers=2, collate_fn=stack)
    model = nn.Linear(64, 4).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for waves, labels in loader:
            loss = nn.functional.cross_entropy(model(waves.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
