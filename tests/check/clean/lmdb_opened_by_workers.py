# needs: lmdb
"""Reads samples from an LMDB that each worker opens for itself at its first sample."""

import tempfile

import lmdb
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

COUNT = 32


class Stored(Dataset):
    def __init__(self, path: str) -> None:
        self.path = path
        self.environment = None

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.environment is None:
            self.environment = lmdb.open(self.path, readonly=True, lock=False)
        with self.environment.begin() as transaction:
            return torch.frombuffer(bytearray(transaction.get(b"%d" % index)), dtype=torch.float32)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with lmdb.open(folder) as writable, writable.begin(write=True) as transaction:
            for index in range(COUNT):
                transaction.put(b"%d" % index, torch.full((8,), float(index)).numpy().tobytes())
        model = nn.Linear(8, 1).to("mps").eval()
        total = torch.zeros((), device="mps")
        with torch.inference_mode():
            for batch in DataLoader(Stored(folder), batch_size=8, num_workers=2):
                total += model(batch.to("mps")).sum()
        print(f"mean {total.item() / COUNT:.3f}")


if __name__ == "__main__":
    main()
