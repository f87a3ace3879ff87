# finds-anywhere: memory-does-not-fit
# options: --mac m1-8gb
"""Makes room for the keys and values of a language model with a very long context, past the limit."""

import torch

LAYERS, HEADS, CONTEXT, WIDTH = 60, 8, 40_960, 128

device = torch.device("mps")
torch.mps.set_per_process_memory_fraction(0.0)  # finds: memory-fraction
caches = [torch.empty(2, HEADS, CONTEXT, WIDTH, dtype=torch.float16, device=device) for _ in range(LAYERS)]
for cache in caches:
    cache[:, :, :16] = 0.0
print(f"{sum(cache.nbytes for cache in caches) >> 20} MiB for the context")
