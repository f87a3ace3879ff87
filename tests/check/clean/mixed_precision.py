"""Trains in mixed precision, with gradients accumulated over two batches and clipped."""

import torch
from torch import nn

ACCUMULATE = 2


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("mps", init_scale=1024.0)
    for batch in range(1, 25):
        inputs = torch.randn(16, 32, device=device)
        labels = inputs[:, :8].argmax(dim=1)
        with torch.autocast("mps", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(inputs).float(), labels) / ACCUMULATE
        scaler.scale(loss).backward()
        if batch % ACCUMULATE == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    print(f"loss {ACCUMULATE * loss.item():.3f}")


if __name__ == "__main__":
    main()
