"""Classifies short clips with three-dimensional convolutions."""

import torch
from torch import nn


class ClipClassifier(nn.Module):
    def __init__(self, classes: int = 5) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv3d(3, 8, 3, padding=1), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool3d(2)
        self.head = nn.Linear(64, classes)

    def forward(self, clips):
        features = self.features(clips)
        pooled = self.pool(features)  # finds: refused-operator
        return self.head(pooled.flatten(1))


if __name__ == "__main__":
    torch.manual_seed(0)
    model = ClipClassifier().to("mps").eval()
    clips = torch.rand(2, 3, 8, 16, 16, device="mps")
    with torch.inference_mode():
        classes = model(clips).argmax(dim=1)
    print("classes:", classes.tolist())
