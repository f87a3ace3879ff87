"""A loader whose worker waits for a lock that its parent held when it was forked, and that nobody will ever open.

python hangs.py --workers 0     # without workers all is well
python hangs.py --workers 2     # never ends
"""

import argparse
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LOCK = threading.Lock()


class Guarded(Dataset):
    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int):
        if torch.utils.data.get_worker_info() is not None and index >= self.count // 2:
            with LOCK:
                pass
        return torch.randn(64, generator=torch.Generator().manual_seed(index)), index % 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="mps")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--samples", type=int, default=640)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(0)
    model = nn.Linear(64, 4).to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(
        Guarded(args.samples),
        batch_size=args.batch_size,
        num_workers=args.workers,
        multiprocessing_context="fork" if args.workers else None,
    )
    for epoch in range(args.epochs):
        # A log thread, a profiler or a library's own thread holds such a lock in real programs.
        LOCK.acquire()
        batches = iter(loader)
        LOCK.release()
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs.to(args.device)), labels.to(args.device))
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
