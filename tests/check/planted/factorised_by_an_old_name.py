# options: --as-torch 2.15
"""A Gaussian process whose author took the factors from functions that PyTorch 2.15 no longer has."""

import torch

points = torch.linspace(0, 1, 24, device="mps")
covariance = torch.exp(-((points[:, None] - points) ** 2) / 0.02) + 0.1 * torch.eye(24, device="mps")
factor = torch.cholesky(covariance)  # finds: removed-operator
directions, _ = torch.qr(covariance)  # finds: removed-operator
sample = factor @ torch.randn(24, device="mps")
print(bool(torch.isfinite(sample).all()), directions.shape)
