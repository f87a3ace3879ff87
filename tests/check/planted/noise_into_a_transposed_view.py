# options: --as-torch 2.9.0 --macos 14.5
"""Draws exploration noise into a buffer that is laid out the other way round."""

import torch

torch.manual_seed(0)
buffer = torch.zeros(8, 64, device="mps")
by_actor = buffer.T
by_actor.normal_(std=0.1)  # finds: noncontiguous-input
actions = torch.ones(64, 8, device="mps") + by_actor
print(f"spread of the actions {actions.std().item():.3f}")
