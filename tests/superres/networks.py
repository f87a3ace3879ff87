"""The networks of `anymps sr` once more, in Python: what its files of weights must mean to others."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class DySample(nn.Module):
    def __init__(self, channels: int, out: int, scale: int, groups: int) -> None:
        super().__init__()
        self.scale, self.groups = scale, groups
        self.end_conv = nn.Conv2d(channels, out, 1)
        self.offset = nn.Conv2d(channels, 2 * groups * scale**2, 1)
        self.scope = nn.Conv2d(channels, 2 * groups * scale**2, 1, bias=False)
        steps = torch.arange((1 - scale) / 2, (scale - 1) / 2 + 1) / scale
        rows, columns = torch.meshgrid(steps, steps, indexing="ij")
        places = torch.stack([columns, rows]).flatten(1)
        self.register_buffer("init_pos", places[:, None].repeat(1, groups, 1).reshape(1, -1, 1, 1))

    def forward(self, x):
        n, _, height, width = x.shape
        moved = self.offset(x) * self.scope(x).sigmoid() * 0.5 + self.init_pos
        moved = moved.view(n, 2, -1, height, width)
        rows, columns = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
        middles = torch.stack([columns, rows]).view(1, 2, 1, height, width)
        grid = 2 * (middles + moved) / torch.tensor([width, height]).view(1, 2, 1, 1, 1) - 1
        grid = F.pixel_shuffle(grid.reshape(n, -1, height, width), self.scale)
        grid = grid.view(n, 2, -1, self.scale * height, self.scale * width).permute(0, 2, 3, 4, 1).flatten(0, 1)
        parts = x.reshape(n * self.groups, -1, height, width)
        made = F.grid_sample(parts, grid, "bilinear", "border", align_corners=False)
        return self.end_conv(made.view(n, -1, self.scale * height, self.scale * width))


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(self.conv1(x).relu())


class Edsr(nn.Module):
    def __init__(self, scale: int, width: int, blocks: int, upsampler: str) -> None:
        super().__init__()
        self.conv_first = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.Sequential(*(Residual(width) for _ in range(blocks)))
        self.conv_after_body = nn.Conv2d(width, width, 3, padding=1)
        if upsampler == "dysample":
            self.upsample = DySample(width, width, scale, 4)
        else:
            layers = []
            for factor in (2, 2) if scale == 4 else (scale,):
                layers += [nn.Conv2d(width, width * factor**2, 3, padding=1), nn.PixelShuffle(factor)]
            self.upsample = nn.Sequential(*layers)
        self.conv_last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        mean = torch.tensor([0.4488, 0.4371, 0.4040], device=x.device).view(1, 3, 1, 1)
        span = 1 if isinstance(self.upsample, DySample) else 255
        first = self.conv_first((x - mean) * span)
        return self.conv_last(self.upsample(self.conv_after_body(self.body(first)) + first)) / span + mean


class LargeKernel(nn.Module):
    def __init__(self, part: int, kernel: int) -> None:
        super().__init__()
        self.part = part
        self.conv = nn.Conv2d(part, part, kernel, padding=kernel // 2)

    def forward(self, x):
        return torch.cat([self.conv(x[:, : self.part]), x[:, self.part :]], 1)


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.Sigmoid())

    def forward(self, x):
        return x * self.f(x)


class Block(nn.Module):
    def __init__(self, width: int, kernel: int, normalised: bool) -> None:
        super().__init__()
        self.channel_mixer = nn.Sequential(
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.Mish(), nn.Conv2d(2 * width, width, 3, padding=1)
        )
        self.lk = LargeKernel(width // 4, kernel)
        self.attn = Attention(width)
        self.refine = nn.Conv2d(width, width, 1)
        self.norm = nn.GroupNorm(4, width) if normalised else nn.Identity()

    def forward(self, x):
        return x + self.norm(self.refine(self.attn(self.lk(self.channel_mixer(x)))))


class Plksr(nn.Module):
    def __init__(self, scale: int, width: int, blocks: int, kernel: int, upsampler: str, normalised: bool) -> None:
        super().__init__()
        self.scale = scale
        self.feats = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1),
            *(Block(width, kernel, normalised) for _ in range(blocks)),
            *([nn.Dropout2d(0.0)] if normalised else []),
            nn.Conv2d(width, 3 * scale**2, 3, padding=1),
        )
        if upsampler == "dysample":
            self.to_img = DySample(3 * scale**2, 3, scale, 3 if scale % 2 else 4)
        else:
            self.to_img = nn.PixelShuffle(scale)

    def forward(self, x):
        return self.to_img(self.feats(x) + x.repeat_interleave(self.scale**2, 1))


def network(kind: str, scale: int, width: int, blocks: int, kernel: int, upsampler: str) -> nn.Module:
    if kind == "edsr":
        return Edsr(scale, width, blocks, upsampler)
    return Plksr(scale, width, blocks, kernel, upsampler, normalised=kind == "realplksr")
