"""Normalises samples by a function that the data set is given."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, transform) -> None:
        self.transform = transform
        self.values = torch.arange(64, dtype=torch.float32).reshape(16, 4)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.transform(self.values[index])


def main() -> None:
    model = nn.Linear(4, 2).to("mps").eval()
    samples = Samples(transform=lambda sample: (sample - 32) / 32)
    loader = DataLoader(samples, batch_size=8, num_workers=1)  # finds: workers-unpicklable
    with torch.inference_mode():
        results = torch.cat([model(batch.to("mps")) for batch in loader])
    print("mean", results.mean().item())


if __name__ == "__main__":
    main()
