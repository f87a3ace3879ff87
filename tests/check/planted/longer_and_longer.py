# finds-anywhere: memory-fragmentation
"""Scores sequences from the shortest to the longest: no freed buffer is large enough for the next one."""

import torch

WIDTH = 1024

device = torch.device("mps")
weights = torch.zeros(WIDTH, 1, device=device)
longest = torch.zeros((), device=device)
with torch.inference_mode():
    for length in range(512, 12_000, 512):
        tokens = torch.empty(8, length, WIDTH, dtype=torch.float16, device=device)
        longest += tokens[0, -1].isnan().any()
        del tokens
print(f"largest {torch.mps.driver_allocated_memory() >> 20} MiB", longest.item() + weights.sum().item())
