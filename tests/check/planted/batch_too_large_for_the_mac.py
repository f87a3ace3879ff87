# options: --mac m1-8gb
"""Halves the batch until it fits."""

import torch


def activations(batch: int) -> torch.Tensor:
    return torch.empty(batch, 256, 256, 64, dtype=torch.float16, device="mps")  # finds: out-of-memory


def main() -> None:
    batch = 1024
    while True:
        try:
            room = activations(batch)
            break
        except RuntimeError as error:
            print(str(error).splitlines()[0])
            batch //= 2
    print(f"a batch of {batch}: {room.nbytes >> 20} MiB")


if __name__ == "__main__":
    main()
