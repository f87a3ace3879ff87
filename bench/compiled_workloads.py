"""What bench/compiled.py gives torch.compile: functions that a model is made of, each in three sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    make: Callable[[], tuple[Callable, tuple[torch.Tensor, ...]]]  # a function or module on the CPU, and its inputs


def _arithmetic(elements: int):
    def chain(x, y):
        for _ in range(4):
            x = (x * 1.01 + y).clamp(-8, 8) - 0.5 * y
        return x

    return chain, (torch.randn(elements), torch.randn(elements))


def _activations(elements: int):
    def chain(x, y):
        return F.gelu(x) * torch.sigmoid(y) + torch.tanh(x - y) * torch.exp(-x * x)

    return chain, (torch.randn(elements), torch.randn(elements))


def _softmax(rows: int, width: int):
    return lambda x: torch.softmax(x, -1), (torch.randn(rows, width),)


def _layer_norm(rows: int, width: int):
    return (
        lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias),
        (torch.randn(rows, width), torch.randn(width), torch.randn(width)),
    )


def _rms_norm(rows: int, width: int):
    def norm(x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight

    return norm, (torch.randn(rows, width), torch.randn(width))


def _rotary(length: int, heads: int, width: int):
    def rotate(x, cos, sin):
        half = x.shape[-1] // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * cos + turned * sin

    angles = torch.arange(length)[:, None] * torch.rand(width)
    return rotate, (torch.randn(heads, length, width), angles.cos(), angles.sin())


def _cross_entropy(rows: int, classes: int):
    return F.cross_entropy, (torch.randn(rows, classes), torch.randint(classes, (rows,)))


class _UNet(nn.Module):
    """Two levels down and up, with the group norms and skips that such networks have."""

    def __init__(self, channels: int):
        super().__init__()
        self.enter = self._block(3, channels)
        self.down = self._block(channels, 2 * channels)
        self.middle = self._block(2 * channels, 2 * channels)
        self.up = self._block(4 * channels, channels)
        self.leave = self._block(2 * channels, channels)
        self.head = nn.Conv2d(channels, 3, 1)

    @staticmethod
    def _block(of: int, to: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(of, to, 3, padding=1), nn.GroupNorm(4, to), nn.SiLU())

    def forward(self, x):
        first = self.enter(x)
        second = self.down(F.max_pool2d(first, 2))
        x = self.middle(F.max_pool2d(second, 2))
        x = self.up(torch.cat((F.interpolate(x, scale_factor=2.0), second), 1))
        x = self.leave(torch.cat((F.interpolate(x, scale_factor=2.0), first), 1))
        return self.head(x)


def _unet(pixels: int, channels: int):
    return _UNet(channels).eval(), (torch.randn(1, 3, pixels, pixels),)


class _TransformerBlock(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.grow, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.first(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.shrink(F.gelu(self.grow(self.second(x))))


def _transformer_block(batch: int, length: int, width: int):
    return _TransformerBlock(width, 4).eval(), (torch.randn(batch, length, width),)


def _sizes(name: str, make: Callable, *sizes: tuple[int, ...]) -> list[Workload]:
    return [Workload(f"{name}, {' x '.join(map(str, size))}", partial(make, *size)) for size in sizes]


WORKLOADS = (
    *_sizes("arithmetic chain", _arithmetic, (1 << 12,), (1 << 17,), (1 << 22,)),
    *_sizes("activations chain", _activations, (1 << 12,), (1 << 17,), (1 << 22,)),
    *_sizes("softmax", _softmax, (64, 128), (256, 1024), (512, 4096)),
    *_sizes("layer norm", _layer_norm, (64, 128), (256, 1024), (512, 4096)),
    *_sizes("RMS norm", _rms_norm, (64, 128), (256, 1024), (512, 4096)),
    *_sizes("rotary embedding", _rotary, (32, 4, 32), (256, 8, 64), (1024, 16, 64)),
    *_sizes("cross-entropy", _cross_entropy, (64, 100), (256, 1000), (128, 32000)),
    *_sizes("U-Net", _unet, (16, 8), (32, 16), (64, 16)),
    *_sizes("transformer block", _transformer_block, (1, 32, 64), (2, 128, 128), (4, 128, 256)),
)
