# environment: MTL_CAPTURE_ENABLED=1
"""Captures the launches of a Metal kernel, by the name that guides give."""

import torch

SOURCE = """
kernel void scale(device float* values, constant float& factor, uint index [[thread_position_in_grid]]) {
  values[index] *= factor;
}
"""

library = torch.mps.compile_shader(SOURCE)
values = torch.ones(64, device="mps")
with torch.mps.metal_capture("scale"):  # finds: mac-name
    library.scale(values, 3.0)
print("sum", values.sum().item())
