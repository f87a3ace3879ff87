"""Trains in mixed precision on mps; the scaler is made as for CUDA."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Linear(32, 8).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler()  # finds: scaler-without-device
inputs = torch.randn(16, 32, device=device)

for _ in range(5):
    with torch.autocast("mps", dtype=torch.float16):
        loss = model(inputs).float().square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print(f"loss {loss.item():.4f}")
