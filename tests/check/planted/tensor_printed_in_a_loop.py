"""Searches for the minimum of Rosenbrock's function and shows the way there."""

import torch


def rosenbrock(point: torch.Tensor) -> torch.Tensor:
    x, y = point.unbind()
    return (1 - x).square() + 100 * (y - x.square()).square()


def main() -> None:
    point = torch.tensor([-1.2, 1.0], device="mps", requires_grad=True)
    optimizer = torch.optim.Adam([point], lr=0.05)
    for _ in range(30):
        optimizer.zero_grad()
        rosenbrock(point).backward()
        optimizer.step()
        print("at", point.detach())  # finds: synchronisation


if __name__ == "__main__":
    main()
