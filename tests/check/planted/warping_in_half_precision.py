"""Turns pictures by an angle each, in half precision."""

import torch
from torch.nn import functional


def rotate(pictures: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    cosine, sine = angles.cos(), angles.sin()
    nothing = torch.zeros_like(angles)
    rows = [torch.stack([cosine, -sine, nothing], dim=-1), torch.stack([sine, cosine, nothing], dim=-1)]
    matrices = torch.stack(rows, dim=1).to(pictures.dtype)
    grid = functional.affine_grid(matrices, pictures.shape, align_corners=False)
    return functional.grid_sample(pictures, grid, align_corners=False)  # finds: known-mac-failure


torch.manual_seed(0)
pictures = torch.rand(2, 1, 16, 16, device="mps", dtype=torch.float16)
turned = rotate(pictures, torch.tensor([0.1, 0.8], device="mps"))
print(f"mean {turned.float().mean().item():.3f}")
