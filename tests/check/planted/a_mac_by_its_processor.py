# finds-anywhere: mps-not-used
"""Takes the device only where the processor is a Mac's, so it trains on the CPU here."""

import platform

import torch

is_mac = platform.processor() in ("arm", "arm64")  # finds: platform-asked
device = torch.device("mps" if is_mac and torch.backends.mps.is_available() else "cpu")
model = torch.nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(torch.randn(16, 8, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
