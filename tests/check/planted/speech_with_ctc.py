"""Judges an untrained recogniser of short "words" by the CTC loss."""

import torch
from torch import nn
from torch.nn import functional

FRAMES, BATCH, SYMBOLS = 24, 4, 6


class Recogniser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, SYMBOLS))

    def forward(self, frames):
        return self.encoder(frames).log_softmax(dim=-1)


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("mps")
    model = Recogniser().to(device).eval()
    frames = torch.randn(FRAMES, BATCH, 12, device=device)
    words = torch.randint(1, SYMBOLS, (BATCH, 5), device=device)
    frame_counts = torch.full((BATCH,), FRAMES)
    word_lengths = torch.full((BATCH,), 5)
    with torch.no_grad():
        scores = model(frames)
        loss = functional.ctc_loss(scores, words, frame_counts, word_lengths)  # finds: refused-operator
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
