"""A training loop that asks for the loss at every step, to show it: the host waits for the device each time.

python item_each_step.py --epochs 2
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="mps")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--samples", type=int, default=2048)
    args = parser.parse_args()

    torch.manual_seed(0)
    inputs = torch.randn(args.samples, 3, 32, 32)
    labels = torch.randint(10, (args.samples,))
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=args.batch_size, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, stride=2), nn.ReLU(), nn.Flatten(),
        nn.Linear(32 * 15 * 15, 10),
    ).to(args.device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(args.epochs):
        running = 0.0
        for pictures, classes in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(pictures.to(args.device)), classes.to(args.device))
            loss.backward()
            optimizer.step()
            running = 0.9 * running + 0.1 * loss.item()
            print(f"\repoch {epoch + 1}: loss {running:.4f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
