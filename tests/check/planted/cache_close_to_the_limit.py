# finds-anywhere: memory-near-limit
# options: --mac m1-8gb
"""Makes room for the keys and values of a language model with a long context."""

import torch

LAYERS, HEADS, CONTEXT, WIDTH = 32, 8, 40_960, 128

device = torch.device("mps")
caches = [torch.empty(2, HEADS, CONTEXT, WIDTH, dtype=torch.float16, device=device) for _ in range(LAYERS)]
for cache in caches:
    cache[:, :, :16] = 0.0
print(f"{sum(cache.nbytes for cache in caches) >> 20} MiB for the context")
