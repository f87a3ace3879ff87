"""Trains a network in the channels-last layout, which is faster on other GPUs."""

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(512, 4))
model = model.to(device, memory_format=torch.channels_last)
pictures = torch.rand(4, 3, 16, 16, device=device).contiguous(memory_format=torch.channels_last)
labels = torch.randint(4, (4,), device=device)

loss = nn.functional.cross_entropy(model(pictures), labels)
loss.backward()  # finds: noncontiguous-input
print(f"loss {loss.item():.3f}, norm {model[0].weight.grad.norm().item():.3f}")
