# status: 2
"""A network for pictures of any size: adaptive pooling brings them to one shape."""

import torch
from torch import nn


class AnySize(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d((4, 4))
        self.head = nn.Linear(8 * 16, 10)

    def forward(self, pictures):
        hidden = self.convolution(pictures).relu()
        hidden = self.pool(hidden)  # finds: refused-arguments
        return self.head(hidden.flatten(1))


device = torch.device("mps")
model = AnySize().to(device)
with torch.no_grad():
    for size in (16, 32, 30):
        scores = model(torch.rand(1, 3, size, size, device=device))
        print(size, tuple(scores.shape))
