"""Times a layer with the clock read only when the device has done its work."""

import time

import torch
from torch import nn


def seconds_each(layer: nn.Module, inputs: torch.Tensor, repeats: int = 10) -> float:
    layer(inputs)
    torch.mps.synchronize()
    start = time.perf_counter()
    for _ in range(repeats):
        layer(inputs)
    torch.mps.synchronize()
    return (time.perf_counter() - start) / repeats


@torch.inference_mode()
def main() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(8, 64, 128, device="mps")
    for layer in (nn.Linear(128, 128), nn.LayerNorm(128)):
        print(f"{type(layer).__name__}: {1e6 * seconds_each(layer.to('mps'), inputs):.0f} µs")
    begin = time.time()
    total = inputs.square().sum().item()
    print(f"sum of squares {total:.0f} after {time.time() - begin:.4f} s")


if __name__ == "__main__":
    main()
