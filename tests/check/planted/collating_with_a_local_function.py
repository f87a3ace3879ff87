"""Pads sequences of different lengths to batches."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def make_loader(sequences, padding: int) -> DataLoader:
    def pad(batch):
        return pad_sequence(batch, batch_first=True, padding_value=padding)

    return DataLoader(sequences, batch_size=4, num_workers=1, collate_fn=pad)  # finds: workers-unpicklable


def main() -> None:
    torch.manual_seed(0)
    sequences = [torch.randint(1, 20, (length,)) for length in range(3, 11)]
    embedding = nn.Embedding(20, 8, padding_idx=0).to("mps")
    with torch.inference_mode():
        for batch in make_loader(sequences, padding=0):
            print(tuple(embedding(batch.to("mps")).shape))


if __name__ == "__main__":
    main()
