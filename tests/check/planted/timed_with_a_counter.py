"""Compares how long two layers take."""

from time import perf_counter

import torch
from torch import nn


def seconds(layer: nn.Module, inputs: torch.Tensor, repeats: int = 10) -> float:
    begin = perf_counter()
    for _ in range(repeats):
        layer(inputs)
    return (perf_counter() - begin) / repeats  # finds: timing-without-synchronize


@torch.inference_mode()
def main() -> None:
    inputs = torch.randn(4, 8, 32, 32, device="mps")
    for layer in (nn.Conv2d(8, 8, 3, padding=1), nn.MaxPool2d(3, stride=1, padding=1)):
        print(f"{type(layer).__name__:10} {1e3 * seconds(layer.to('mps'), inputs):.2f} ms")


if __name__ == "__main__":
    main()
