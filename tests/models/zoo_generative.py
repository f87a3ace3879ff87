"""Models that make things: adversarial, variational, diffusing, flowing."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn
from tour import Phase, entry


@entry("adam")
def gan_two_optimisers():
    module = nn.ModuleDict(
        {
            "generator": nn.Sequential(
                nn.ConvTranspose2d(8, 16, 4),
                nn.BatchNorm2d(16),
                nn.ReLU(),
                nn.ConvTranspose2d(16, 1, 4, 2, 1),
                nn.Tanh(),
            ),
            "critic": nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1)),
        }
    )
    batch = {"noise": torch.randn(4, 8, 1, 1), "real": torch.randn(4, 1, 8, 8)}

    def critic(m, b):
        real, fake = m["critic"](b["real"]), m["critic"](m["generator"](b["noise"]).detach())
        return F.softplus(-real).mean() + F.softplus(fake).mean()

    def generator(m, b):
        return F.softplus(-m["critic"](m["generator"](b["noise"]))).mean()

    return module, batch, [Phase(critic, "critic"), Phase(generator, "generator")]


@entry("sgd", "linear is one operator on MPS, and its second derivative has a formula of its own")
def wgan_gradient_penalty():
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    batch = {"real": torch.randn(5, 6), "fake": torch.randn(5, 6), "mix": torch.rand(5, 1)}

    def loss(m, b):
        between = (b["mix"] * b["real"] + (1 - b["mix"]) * b["fake"]).requires_grad_()
        (slope,) = torch.autograd.grad(m(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
        return m(b["fake"]).mean() - m(b["real"]).mean() + 10 * penalty

    return net, batch, loss


@entry("adamw")
def autoencoder():
    net = nn.Sequential(nn.Linear(32, 16), nn.SELU(), nn.Linear(16, 4), nn.Linear(4, 16), nn.CELU(), nn.Linear(16, 32))
    return net, {"x": torch.rand(6, 32)}, lambda m, b: F.mse_loss(m(b["x"]), b["x"])


@entry("adam-fused")
def variational_autoencoder():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode, self.decode = nn.Linear(20, 8), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 20))

        def forward(self, x, noise):
            mean, logvar = self.encode(x).chunk(2, 1)
            return self.decode(mean + noise * (0.5 * logvar).exp()), mean, logvar

    def loss(m, b):
        y, mean, logvar = m(b["x"], b["noise"])
        divergence = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
        return F.binary_cross_entropy_with_logits(y, b["x"], reduction="sum") / len(y) + divergence

    return Net(), {"x": torch.rand(5, 20), "noise": torch.randn(5, 4)}, loss


@entry("adamw-foreach")
def diffusion_step():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))
            self.enter, self.norm = nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16)
            self.leave = nn.Conv2d(16, 3, 3, padding=1)

        def forward(self, x, t):
            rate = torch.exp(torch.arange(4, device=x.device) * (-math.log(100.0) / 4))
            angle = t[:, None].float() * rate
            code = self.time(torch.cat([angle.sin(), angle.cos()], 1))
            return self.leave(F.silu(self.norm(self.enter(x) + code[:, :, None, None])))

    def loss(m, b):
        beta = torch.linspace(1e-4, 0.02, 50, device=b["x"].device)
        kept = torch.cumprod(1 - beta, 0)[b["t"]][:, None, None, None]
        noisy = kept.sqrt() * b["x"] + (1 - kept).sqrt() * b["noise"]
        return F.mse_loss(m(noisy, b["t"]), b["noise"])

    batch = {"x": torch.randn(3, 3, 8, 8), "noise": torch.randn(3, 3, 8, 8), "t": torch.randint(50, (3,))}
    return Net(), batch, loss


@entry("nadam")
def normalising_flow():
    class Coupling(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.flip, self.net = flip, nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 6))

        def forward(self, x):
            a, b = x.chunk(2, 1)
            if self.flip:
                a, b = b, a
            log_scale, shift = self.net(a).chunk(2, 1)
            log_scale = torch.tanh(log_scale)
            b = b * log_scale.exp() + shift
            return torch.cat([b, a] if self.flip else [a, b], 1), log_scale.sum(1)

    net = nn.ModuleList(Coupling(i % 2 == 1) for i in range(4))

    def loss(m, b):
        x, log_det = b["x"], 0.0
        for layer in m:
            x, d = layer(x)
            log_det = log_det + d
        return (0.5 * (x * x).sum(1) - log_det).mean()

    return net, {"x": torch.randn(8, 6)}, loss


@entry("rprop")
def vector_quantised_autoencoder():
    class Net(nn.Module):
        """Nearest code by cdist and argmin, straight-through gradient."""

        def __init__(self):
            super().__init__()
            self.encode, self.decode, self.codes = nn.Linear(12, 4), nn.Linear(4, 12), nn.Embedding(7, 4)

        def forward(self, x):
            z = self.encode(x)
            code = self.codes(torch.cdist(z.detach(), self.codes.weight.detach()).argmin(1))
            return self.decode(z + (code - z).detach()), z, code

    def loss(m, b):
        y, z, code = m(b["x"])
        return F.mse_loss(y, b["x"]) + F.mse_loss(code, z.detach()) + 0.25 * F.mse_loss(z, code.detach())

    return Net(), {"x": torch.rand(6, 12)}, loss
