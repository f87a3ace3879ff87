"""Models that look at pictures."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from tour import entry


def pictures(channels=3, size=16, batch=4, classes=10):
    return {"x": torch.randn(batch, channels, size, size), "y": torch.randint(classes, (batch,))}


def classify(module, batch):
    return F.cross_entropy(module(batch["x"]), batch["y"])


@entry("sgd")
def small_cnn():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(16 * 16, 10),
    )  # fmt: skip
    return net, pictures(), classify


@entry("momentum")
def lenet():
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10),
    )  # fmt: skip
    return net, pictures(1, 28, 2), classify


class Residual(nn.Module):
    def __init__(self, a, b, stride=1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(),
            nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b),
        )  # fmt: skip
        self.skip = nn.Identity() if a == b and stride == 1 else nn.Conv2d(a, b, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


@entry("nesterov")
def resnet():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), Residual(8, 8), Residual(8, 16, 2), Residual(16, 16),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip
    return net, pictures(), classify


@entry("rmsprop")
def mobilenet_depthwise():
    def block(a, b, stride):
        return nn.Sequential(
            nn.Conv2d(a, 2 * a, 1, bias=False), nn.BatchNorm2d(2 * a), nn.ReLU6(),
            nn.Conv2d(2 * a, 2 * a, 3, stride, 1, groups=2 * a, bias=False), nn.BatchNorm2d(2 * a), nn.Hardswish(),
            nn.Conv2d(2 * a, b, 1, bias=False), nn.BatchNorm2d(b),
        )  # fmt: skip

    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        block(8, 12, 1),
        block(12, 16, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    )
    return net, pictures(), classify


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down, self.up = nn.Linear(channels, channels // 2), nn.Linear(channels // 2, channels)

    def forward(self, x):
        weight = torch.sigmoid(self.up(F.silu(self.down(x.mean((2, 3))))))
        return x * weight[:, :, None, None]


@entry("adam")
def squeeze_and_excite():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.SiLU(), SqueezeExcite(8), nn.Conv2d(8, 8, 3, 2, 1), SqueezeExcite(8),
        nn.Flatten(), nn.Linear(8 * 64, 10),
    )  # fmt: skip
    return net, pictures(), classify


@entry("adamw")
def convnext():
    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.depthwise = nn.Conv2d(c, c, 7, padding=3, groups=c)
            self.norm = nn.LayerNorm(c)
            self.wide, self.narrow = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)
            self.scale = nn.Parameter(torch.full((c,), 0.1))

        def forward(self, x):
            y = self.depthwise(x).permute(0, 2, 3, 1)
            y = self.scale * self.narrow(F.gelu(self.wide(self.norm(y))))
            return x + y.permute(0, 3, 1, 2)

    net = nn.Sequential(
        nn.Conv2d(3, 8, 4, 4), Block(8), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
    )
    return net, pictures(), classify


@entry("nesterov", "on the CPU, attention is one flash kernel; on MPS it is matrix products and a softmax")
def vision_transformer():
    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(3, 32, 4, 4)
            self.token = nn.Parameter(torch.zeros(1, 1, 32))
            self.position = nn.Parameter(torch.randn(1, 17, 32) * 0.02)
            layer = nn.TransformerEncoderLayer(
                32, 4, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(32, 10)

        def forward(self, x):
            x = self.patch(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.position
            return self.head(self.encoder(x)[:, 0])

    return ViT(), pictures(), classify


@entry("adam-foreach")
def mlp_mixer():
    class Block(nn.Module):
        def __init__(self, tokens, c):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(c), nn.LayerNorm(c)])
            self.across = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
            self.within = nn.Sequential(nn.Linear(c, 32), nn.GELU(), nn.Linear(32, c))

        def forward(self, x):
            x = x + self.across(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
            return x + self.within(self.norms[1](x))

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch, self.blocks = nn.Conv2d(3, 24, 4, 4), nn.Sequential(Block(16, 24), Block(16, 24))
            self.head = nn.Linear(24, 10)

        def forward(self, x):
            return self.head(self.blocks(self.patch(x).flatten(2).transpose(1, 2)).mean(1))

    return Mixer(), pictures(), classify


@entry("adam-fused")
def u_net():
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()

            def two(a, b):
                return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())

            self.down1, self.down2, self.bottom = two(3, 8), two(8, 16), two(16, 32)
            self.up2, self.mix2 = nn.ConvTranspose2d(32, 16, 2, 2), two(32, 16)
            self.up1, self.mix1 = nn.ConvTranspose2d(16, 8, 2, 2), two(16, 8)
            self.head = nn.Conv2d(8, 1, 1)

        def forward(self, x):
            a = self.down1(x)
            b = self.down2(F.max_pool2d(a, 2))
            c = self.bottom(F.max_pool2d(b, 2))
            d = self.mix2(torch.cat([self.up2(c), b], 1))
            return self.head(self.mix1(torch.cat([self.up1(d), a], 1)))

    batch = {"x": torch.randn(2, 3, 16, 16), "mask": (torch.rand(2, 1, 16, 16) > 0.5).float()}
    return UNet(), batch, lambda m, b: F.binary_cross_entropy_with_logits(m(b["x"]), b["mask"])


@entry("adamax")
def pixel_shuffle_super_resolution():
    net = nn.Sequential(nn.Conv2d(3, 16, 5, padding=2), nn.PReLU(), nn.Conv2d(16, 12, 3, padding=1), nn.PixelShuffle(2))
    batch = {"x": torch.rand(2, 3, 12, 12), "y": torch.rand(2, 3, 24, 24)}
    return net, batch, lambda m, b: F.l1_loss(m(b["x"]), b["y"])


@entry("nadam")
def upsampling_super_resolution():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 3, 3, padding=1)

        def forward(self, x):
            y = F.interpolate(F.leaky_relu(self.a(x)), scale_factor=2, mode="bilinear", align_corners=False)
            return self.b(y) + F.interpolate(x, scale_factor=2, mode="nearest")

    batch = {"x": torch.rand(2, 3, 12, 12), "y": torch.rand(2, 3, 24, 24)}
    return Net(), batch, lambda m, b: F.smooth_l1_loss(m(b["x"]), b["y"])


@entry("sgd-foreach")
def spatial_transformer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.where = nn.Sequential(nn.Conv2d(1, 4, 5), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 64, 6))
            self.head = nn.Sequential(nn.Flatten(), nn.Linear(144, 10))
            nn.init.zeros_(self.where[-1].weight)
            self.where[-1].bias.data.copy_(torch.tensor([0.9, 0.1, 0.0, -0.1, 0.9, 0.1]))

        def forward(self, x):
            grid = F.affine_grid(self.where(x).view(-1, 2, 3), x.shape, align_corners=False)
            return self.head(F.grid_sample(x, grid, align_corners=False))

    return Net(), pictures(1, 12), classify


@entry("adagrad")
def instance_norm_style():
    net = nn.Sequential(
        nn.ReflectionPad2d(1), nn.Conv2d(3, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.ELU(),
        nn.ReplicationPad2d(1), nn.Conv2d(8, 3, 3), nn.Hardtanh(),
    )  # fmt: skip
    batch = {"x": torch.randn(2, 3, 12, 12), "y": torch.rand(2, 3, 12, 12)}
    return net, batch, lambda m, b: F.mse_loss(m(b["x"]), b["y"])


@entry("adam-amsgrad")
def group_norm_detector():
    class Net(nn.Module):
        """Two heads on one trunk: what is there, and where."""

        def __init__(self):
            super().__init__()
            self.trunk = nn.Sequential(
                nn.Conv2d(3, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.Mish(), nn.Conv2d(16, 16, 3, 2, 1)
            )
            self.what, self.where = nn.Conv2d(16, 5, 1), nn.Conv2d(16, 4, 1)

        def forward(self, x):
            y = F.relu(self.trunk(x))
            return self.what(y).flatten(2), self.where(y).flatten(2)

    def loss(m, b):
        what, where = m(b["x"])
        return F.cross_entropy(what, b["what"]) + F.huber_loss(where, b["where"])

    batch = {"x": torch.randn(2, 3, 16, 16), "what": torch.randint(5, (2, 16)), "where": torch.randn(2, 4, 16)}
    return Net(), batch, loss


@entry("adamw-foreach", close_because="the CPU sums channels_last in another order; the device has one for all layouts")
def channels_last_cnn():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.Flatten()
    )
    batch = {"x": torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last), "y": torch.randn(2, 144)}
    return net.to(memory_format=torch.channels_last), batch, lambda m, b: F.mse_loss(m(b["x"]), b["y"])
