"""Times a matrix product; the clock is read before the device has done it."""

import time

import torch

torch.manual_seed(0)
device = torch.device("mps")
left = torch.randn(512, 512, device=device)
right = torch.randn(512, 512, device=device)

start = time.time()
for _ in range(20):
    product = left @ right
elapsed = time.time() - start  # finds: timing-without-synchronize
print(f"{20 * 2 * 512**3 / elapsed / 1e9:.1f} GFLOPS, mean {product.mean().item():.3f}")
