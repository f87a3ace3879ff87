"""Means to accumulate two batches, and steps after each."""

import torch
from torch import nn

ACCUMULATE = 2

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 8)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("mps", init_scale=128.0)

for batch in range(6):
    inputs = torch.randn(16, 32, device=device)
    with torch.autocast("mps", dtype=torch.float16):
        loss = model(inputs).float().square().mean() / ACCUMULATE
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # finds: step-in-accumulation
    scaler.update()
    if (batch + 1) % ACCUMULATE == 0:
        optimizer.zero_grad()
print(f"loss {loss.item():.4f}")
