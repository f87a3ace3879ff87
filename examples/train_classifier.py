"""Train a small classifier on pictures that the script makes up itself.

Plain PyTorch: nothing here knows which machine provides the device.

    python train_classifier.py                  # on mps
    python train_classifier.py --device cpu
"""

import argparse
import math
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 10
PIXELS = 28 * 28


def make_pictures(count: int, seed: int) -> TensorDataset:
    """Each class has one picture of its own; a sample is that picture under heavy noise."""
    originals = torch.randn(CLASSES, PIXELS, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    noise = torch.randn(count, PIXELS, generator=generator)
    return TensorDataset(0.15 * originals[labels] + noise, labels)


def make_model() -> nn.Module:
    return nn.Sequential(nn.Linear(PIXELS, 128), nn.ReLU(), nn.Linear(128, CLASSES))


class Progress:
    """A bar on a terminal, a line per epoch in a log."""

    WIDTH = 30

    def __init__(self, epochs: int, steps: int) -> None:
        self.epochs = epochs
        self.steps = steps
        self.live = sys.stderr.isatty()
        self.drawn = 0.0

    def update(self, epoch: int, step: int, loss: float) -> None:
        last = step == self.steps
        if not last and (not self.live or time.monotonic() - self.drawn < 0.1):
            return
        self.drawn = time.monotonic()
        done = self.WIDTH * step // self.steps
        bar = "█" * done + "░" * (self.WIDTH - done)
        line = f"epoch {epoch + 1}/{self.epochs} {bar} {step}/{self.steps}  loss {loss:.4f}"
        print(f"\r{line}" if self.live else line, end="\n" if last else "", file=sys.stderr, flush=True)


def train_epoch(model, loader, criterion, optimizer, device, epoch: int, progress: Progress) -> float:
    """Returns the mean loss of the epoch."""
    model.train()
    # Summed on the device: asking for its value at every step would make the host wait for the device each time.
    total = torch.zeros((), device=device)
    for step, (pictures, labels) in enumerate(loader, start=1):
        pictures, labels = pictures.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = criterion(model(pictures), labels)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        if step % 20 == 0 or step == len(loader):
            progress.update(epoch, step, total.item() / step)
    return total.item() / len(loader)


@torch.no_grad()
def accuracy(model, loader, device) -> float:
    model.eval()
    right = torch.zeros((), dtype=torch.int64, device=device)
    for pictures, labels in loader:
        right += (model(pictures.to(device)).argmax(dim=1) == labels.to(device)).sum()
    return right.item() / len(loader.dataset)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="mps")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--samples", type=int, default=30_000, help="to train on; a tenth as many are held out")
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device(args.device)
    training = DataLoader(make_pictures(args.samples, seed=1), batch_size=args.batch_size, shuffle=True)
    held_out = DataLoader(make_pictures(max(1, args.samples // 10), seed=2), batch_size=1024)

    model = make_model().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    progress = Progress(args.epochs, len(training))
    losses = [
        train_epoch(model, training, criterion, optimizer, device, epoch, progress) for epoch in range(args.epochs)
    ]

    print(f"{device}: accuracy on held-out pictures {accuracy(model, held_out, device):.1%}, loss {losses[-1]:.4f}")
    at_first = losses[0] if len(losses) > 1 else math.log(CLASSES)  # what guessing costs
    if not losses[-1] < at_first:
        print(f"the loss did not fall: {at_first:.4f} at first, {losses[-1]:.4f} at last", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
