# finds-anywhere: memory-near-limit
# options: --mac m1-8gb
"""Fills a replay buffer with pictures until no more fit."""

import torch


def chunk(pictures: int = 1024) -> torch.Tensor:
    return torch.empty(pictures, 1024, 1024, dtype=torch.uint8, device="mps")  # finds: out-of-memory


def main() -> None:
    buffer = []
    for _ in range(12):
        try:
            buffer.append(chunk())
        except RuntimeError as error:
            print(str(error).splitlines()[0])
            break
    print(f"{sum(map(len, buffer))} pictures")


if __name__ == "__main__":
    main()
