"""A training loop that keeps its losses for a plot, and with them the graph of every step.

python leaks.py --epochs 10
"""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="mps")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--samples", type=int, default=320)
    args = parser.parse_args()

    torch.manual_seed(0)
    inputs = torch.randn(args.samples, 256)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=args.batch_size, shuffle=True)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1)).to(args.device)
    optimizer = torch.optim.Adam(model.parameters())
    history = []
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            outputs = model(x.to(args.device))
            loss = nn.functional.mse_loss(outputs, y.to(args.device))
            loss.backward()
            optimizer.step()
            history.append((loss, outputs, model[0].weight.grad.clone()))
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
