"""Draws a text from a tiny language model, token by token."""

import torch
from torch import nn

END = 0

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Embedding(40, 24), nn.Linear(24, 40)).to(device).eval()

token = torch.tensor([1], device=device)
text = []
with torch.inference_mode():
    for _ in range(32):
        chances = model(token).softmax(dim=-1)
        token = torch.multinomial(chances, num_samples=1).squeeze(1)
        text.extend(token.tolist())  # finds: synchronisation
        if text[-1] == END:
            text.clear()
print(text)
