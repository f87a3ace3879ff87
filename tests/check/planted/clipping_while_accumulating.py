"""Accumulates gradients over two batches, clips them and steps."""

import torch
from torch import nn

ACCUMULATE = 2

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Linear(32, 8).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("mps", init_scale=128.0)

for batch in range(6):
    inputs = torch.randn(16, 32, device=device)
    with torch.autocast("mps", dtype=torch.float16):
        loss = model(inputs).float().square().mean() / ACCUMULATE
    scaler.scale(loss).backward()
    if batch % ACCUMULATE == 0:
        scaler.unscale_(optimizer)  # finds: unscale-in-accumulation
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if (batch + 1) % ACCUMULATE == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
print(f"loss {loss.item():.4f}")
