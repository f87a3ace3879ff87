"""Predicts the hidden tokens of a sequence, and counts how many of them are right."""

import torch
from torch import nn

VOCABULARY, HIDDEN_TOKEN = 50, 0

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
text = torch.randint(1, VOCABULARY, (8, 32), device=device)

right = torch.zeros((), device=device)
for _ in range(20):
    hidden = torch.rand(text.shape, device=device) < 0.15
    scores = model(text.masked_fill(hidden, HIDDEN_TOKEN))
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), text.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hits = scores.detach().argmax(dim=-1) == text
    right += hits[hidden].sum()  # finds: synchronisation
print(f"loss {loss.item():.3f}, {right.item():.0f} hidden tokens right")
