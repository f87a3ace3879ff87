# needs: lmdb
"""Reads samples from an LMDB that the data set opens when it is made."""

import tempfile

import lmdb
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Stored(Dataset):
    def __init__(self, path: str) -> None:
        self.environment = lmdb.open(path, readonly=True, lock=False)  # finds: lmdb-before-workers

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        with self.environment.begin() as transaction:
            return torch.frombuffer(bytearray(transaction.get(b"%d" % index)), dtype=torch.float32)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with lmdb.open(folder) as writable, writable.begin(write=True) as transaction:
            for index in range(16):
                transaction.put(b"%d" % index, torch.full((4,), float(index)).numpy().tobytes())
        model = nn.Linear(4, 1).to("mps").eval()
        with torch.inference_mode():
            for batch in DataLoader(Stored(folder), batch_size=8, num_workers=1):
                print("mean", model(batch.to("mps")).mean().item())


if __name__ == "__main__":
    main()
