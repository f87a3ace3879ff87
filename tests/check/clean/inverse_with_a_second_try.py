"""Solves small systems; where the device refuses them, on the CPU."""

import torch


def inverse(matrices: torch.Tensor) -> torch.Tensor:
    try:
        return torch.linalg.inv(matrices)
    except RuntimeError as error:
        print("on the CPU instead:", error)
        return torch.linalg.inv(matrices.cpu()).to(matrices.device)


def main() -> None:
    torch.manual_seed(0)
    phases = torch.randn(4, 3, 3, dtype=torch.complex64, device="mps")
    matrices = phases + 4 * torch.eye(3, dtype=torch.complex64, device="mps")
    product = matrices @ inverse(matrices)
    error = (product - torch.eye(3, dtype=torch.complex64, device="mps")).abs().max()
    print(f"largest error {error.item():.1e}")


if __name__ == "__main__":
    main()
