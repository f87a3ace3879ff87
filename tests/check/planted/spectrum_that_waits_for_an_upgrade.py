# options: --as-torch 2.15 --fail-on error
# status: 0
"""Principal components on the device: refused by PyTorch 2.13, there from 2.14 on."""

import torch

samples = torch.randn(64, 8, device="mps")
covariance = samples.T @ samples / 64
values, vectors = torch.linalg.eigh(covariance)  # finds: upgrade-gain
print((samples @ vectors[:, -2:]).shape, values.shape)
