# finds-anywhere: watermark
# environment: PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0
"""Fills a table of pairwise distances, with the memory's limit switched off from outside."""

import torch

torch.manual_seed(0)
points = torch.rand(256, 3, device="mps")
distances = torch.cdist(points, points)
nearest = distances.topk(2, largest=False).values[:, 1]
print(f"mean distance to the nearest point {nearest.mean().item():.3f}")
