"""Shows how much memory a model takes."""

import torch
from torch import nn


def memory_report(name: str) -> str:
    taken = torch.cuda.memory_allocated()  # finds: cuda-call-idle
    return f"{name}: {taken >> 10} KiB"


def main() -> None:
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to("mps")
    print(memory_report("weights"))
    with torch.inference_mode():
        outputs = model(torch.randn(32, 64, device="mps"))
    print(memory_report("after a forward pass"), f"mean {outputs.mean().item():.3f}")


if __name__ == "__main__":
    main()
