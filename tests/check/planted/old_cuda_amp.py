"""Infers with the mixed precision of older tutorials."""

import torch
from torch import nn


def predict(model: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    with torch.cuda.amp.autocast():  # finds: cuda-amp
        return model(inputs).softmax(dim=-1)


def main() -> None:
    torch.manual_seed(0)
    model = nn.Linear(32, 8).to("mps").eval()
    with torch.inference_mode():
        chances = predict(model, torch.randn(4, 32, device="mps"))
    print([f"{chance:.2f}" for chance in chances.amax(dim=1).tolist()])


if __name__ == "__main__":
    main()
