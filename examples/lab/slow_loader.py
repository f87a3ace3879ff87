"""A small convolutional network behind a loader that is too slow for it: every picture is read, unpacked and distorted
in Python.

    python slow_loader.py --epochs 2
"""

import argparse
import os
import random
import tempfile
import zlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = 4
SIZE = 96


def write_pictures(folder: str, count: int) -> None:
    for index in range(count):
        generator = torch.Generator().manual_seed(index)
        picture = torch.randint(64, (3, SIZE, SIZE), dtype=torch.uint8, generator=generator) + 48 * (index % CLASSES)
        with open(os.path.join(folder, f"{index:05}.z"), "wb") as file:
            file.write(zlib.compress(bytes(picture.flatten().tolist()), 9))


class Pictures(Dataset):
    def __init__(self, folder: str) -> None:
        self.paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int):
        with open(self.paths[index], "rb") as file:
            packed = file.read()
        picture = self.decode(packed)
        return self.augment(picture), index % CLASSES

    def decode(self, packed: bytes):
        pixels = list(zlib.decompress(packed))
        return torch.tensor(pixels, dtype=torch.float32).reshape(3, SIZE, SIZE) / 255

    def augment(self, picture):
        if random.random() < 0.5:
            picture = picture.flip(2)
        for _ in range(4):
            picture = nn.functional.avg_pool2d(picture, 3, stride=1, padding=1) * (0.9 + 0.2 * random.random())
        return picture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="mps")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--samples", type=int, default=320)
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=4), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        nn.Linear(8 * 16, CLASSES),
    ).to(args.device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with tempfile.TemporaryDirectory() as folder:
        write_pictures(folder, args.samples)
        loader = DataLoader(Pictures(folder), batch_size=args.batch_size, shuffle=True, num_workers=args.workers)
        for epoch in range(args.epochs):
            for pictures, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(pictures.to(args.device)), labels.to(args.device))
                loss.backward()
                optimizer.step()
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
