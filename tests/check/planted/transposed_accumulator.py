"""An optimiser of one's own, whose second moments share the memory layout of transposed weights."""

import torch

torch.manual_seed(0)
device = torch.device("mps")
weights = torch.randn(16, 32, device=device).T
moments = torch.zeros(16, 32, device=device).T

for _ in range(3):
    gradient = torch.randn(32, 16, device=device)
    moments.addcmul_(gradient, gradient, value=0.1)  # finds: noncontiguous-input
    weights = weights - 0.01 * gradient / (moments.sqrt() + 1e-8)

print(f"mean of the moments {moments.mean().item():.4f}")
