"""Asks for the fallback to the CPU after torch has been imported."""

import os

import torch

os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"  # finds: environment-too-late


def main() -> None:
    torch.manual_seed(0)
    matrix = torch.randn(8, 8, device="mps")
    product = matrix @ matrix.T
    print(f"trace {product.trace().item():.3f}")


if __name__ == "__main__":
    main()
