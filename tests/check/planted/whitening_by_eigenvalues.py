"""Whitens a batch of features by the eigenvectors of their covariance."""

import torch

device = torch.device("mps")


def whiten(features: torch.Tensor, epsilon: float = 1e-5) -> torch.Tensor:
    centred = features - features.mean(dim=0)
    covariance = centred.T @ centred / (features.shape[0] - 1)
    values, vectors = torch.linalg.eigh(covariance)  # finds: refused-operator
    return centred @ vectors * (values + epsilon).rsqrt()


torch.manual_seed(0)
features = torch.randn(128, 16, device=device) @ torch.randn(16, 16, device=device)
white = whiten(features)
print(f"largest covariance after whitening: {(white.T @ white / 127).abs().max().item():.2f}")
