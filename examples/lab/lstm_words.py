"""A language model of letters with an LSTM, over a text that the script makes up. No DataLoader: it cuts its batches
itself.

    python lstm_words.py --epochs 2
"""

import argparse
import random

import torch
from torch import nn

WORDS = (
    "the",
    "a",
    "small",
    "old",
    "green",
    "river",
    "stone",
    "bird",
    "house",
    "sees",
    "finds",
    "under",
    "near",
    "and",
)


def make_text(words: int) -> str:
    chooser = random.Random(0)
    return " ".join(chooser.choice(WORDS) for _ in range(words))


class LanguageModel(nn.Module):
    def __init__(self, letters: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, letters)

    def forward(self, letters):
        hidden, _ = self.lstm(self.embedding(letters))
        return self.head(hidden)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="mps")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--length", type=int, default=48)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50, help="in an epoch")
    args = parser.parse_args()

    torch.manual_seed(0)
    text = make_text(20_000)
    alphabet = sorted(set(text))
    letters = torch.tensor([alphabet.index(letter) for letter in text])
    model = LanguageModel(len(alphabet), args.width).to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(args.epochs):
        total = torch.zeros((), device=args.device)
        for _ in range(args.steps):
            starts = torch.randint(len(letters) - args.length - 1, (args.batch_size,))
            batch = torch.stack([letters[start : start + args.length + 1] for start in starts]).to(args.device)
            optimizer.zero_grad()
            guesses = model(batch[:, :-1])
            loss = nn.functional.cross_entropy(guesses.flatten(0, 1), batch[:, 1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.detach()
        print(f"epoch {epoch + 1}: loss {total.item() / args.steps:.4f}")


if __name__ == "__main__":
    main()
