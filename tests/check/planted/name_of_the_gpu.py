"""Writes a log's header: which device, which versions."""

import platform

import torch


def device_name() -> str:
    try:
        return torch.cuda.get_device_name()  # finds: cuda-call
    except (AssertionError, RuntimeError):
        return "no GPU"


def main() -> None:
    weights = torch.randn(64, 64, device="mps")
    print(f"torch {torch.__version__}, Python {platform.python_version()}, {device_name()}")
    print(f"norm of the weights {weights.norm().item():.2f}")


if __name__ == "__main__":
    main()
