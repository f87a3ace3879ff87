"""Draws texts from a small language model, all at once, from a seed of their own."""

import torch
from torch import nn

VOCABULARY, TEXTS, LENGTH = 64, 8, 24


@torch.inference_mode()
def sample(model: nn.Module, generator: torch.Generator) -> torch.Tensor:
    device = generator.device
    tokens = torch.zeros(TEXTS, LENGTH, dtype=torch.int64, device=device)
    for position in range(1, LENGTH):
        scores = model(tokens[:, position - 1]) / 0.8
        best, places = scores.topk(8)
        chosen = torch.multinomial(best.softmax(dim=-1), 1, generator=generator)
        tokens[:, position] = places.gather(1, chosen).squeeze(1)
    return tokens


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    model = nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY)).to(device).eval()
    generator = torch.Generator(device).manual_seed(1)
    for text in sample(model, generator).tolist():
        print(*text)


if __name__ == "__main__":
    main()
