"""Trains an upscaler by comparing what it makes, scaled down again, with the small picture."""

import torch
from torch import nn
from torch.nn import functional


class Upscaler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 12, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, small):
        return self.shuffle(self.body(small))


torch.manual_seed(0)
device = "mps"
model = Upscaler().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
small = torch.rand(4, 3, 16, 16, device=device)

for _ in range(3):
    large = model(small)
    again = functional.interpolate(large, scale_factor=0.5, mode="bicubic", antialias=True)
    loss = functional.l1_loss(again, small)
    optimizer.zero_grad()
    loss.backward()  # finds: refused-operator
    optimizer.step()

print(f"loss {loss.item():.4f}")
