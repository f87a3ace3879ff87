# status: 2
"""Times a matrix product as one does on CUDA."""

import time

import torch

device = torch.device("mps")
left = torch.randn(128, 128, device=device)
right = torch.randn(128, 128, device=device)

product = left @ right
torch.cuda.synchronize()  # finds: cuda-call
start = time.perf_counter()
for _ in range(10):
    product = left @ right
torch.cuda.synchronize()
print(f"{(time.perf_counter() - start) / 10 * 1e6:.0f} µs")
