"""One model per family of layers and losses that the others do not touch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from tour import entry


def regress(module, batch):
    return F.mse_loss(module(batch["x"]), batch["y"])


@entry("sgd-fused")
def normalisations_1d():
    net = nn.Sequential(
        nn.Conv1d(4, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU(), nn.GroupNorm(2, 8),
        nn.InstanceNorm1d(8, affine=True), nn.LayerNorm(10), nn.RMSNorm(10), nn.Conv1d(8, 2, 1),
    )  # fmt: skip
    return net, {"x": torch.randn(3, 4, 10), "y": torch.randn(3, 2, 10)}, regress


@entry("nesterov")
def normalisations_2d():
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Softplus(), nn.GroupNorm(4, 8),
        nn.InstanceNorm2d(8, affine=True), nn.LayerNorm((8, 6, 6)), nn.LocalResponseNorm(3), nn.Conv2d(8, 2, 1),
    )  # fmt: skip
    return net, {"x": torch.randn(3, 3, 6, 6), "y": torch.randn(3, 2, 6, 6)}, regress


@entry("adam")
def normalisations_3d():
    net = nn.Sequential(
        nn.Conv3d(2, 6, 3, padding=1), nn.BatchNorm3d(6), nn.ReLU(), nn.GroupNorm(3, 6),
        nn.InstanceNorm3d(6, affine=True), nn.Conv3d(6, 1, 1),
    )  # fmt: skip
    return net, {"x": torch.randn(2, 2, 4, 5, 6), "y": torch.randn(2, 1, 4, 5, 6)}, regress


@entry("adagrad")
def embeddings_and_bags():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Embedding(20, 8)
            self.sum, self.mean = nn.EmbeddingBag(20, 8, mode="sum"), nn.EmbeddingBag(20, 8, mode="mean")
            self.head = nn.Linear(24, 3)

        def forward(self, x):
            bags = [self.sum(x), self.mean(x)]
            return self.head(torch.cat([self.one(x[:, 0]), *bags], 1))

    return Net(), {"x": torch.randint(20, (5, 4)), "y": torch.randn(5, 3)}, regress


@entry("adamw")
def conv3d_video():
    net = nn.Sequential(nn.Conv3d(3, 6, (2, 3, 3), stride=(1, 2, 2)), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 3 * 9, 4))
    batch = {"x": torch.randn(2, 3, 4, 8, 8), "y": torch.randint(4, (2,))}
    return net, batch, lambda m, b: F.cross_entropy(m(b["x"]), b["y"])


@entry("adam-fused")
def transposed_convolutions():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.ConvTranspose1d(3, 4, 4, stride=2, padding=1)
            self.two = nn.ConvTranspose2d(4, 2, 3, stride=2, output_padding=1, groups=2)

        def forward(self, x):
            return self.two(self.one(x)[:, :, None])

    x = torch.randn(2, 3, 5)
    return Net(), {"x": x, "y": torch.randn(2, 2, 4, 22)}, regress


@entry("adam-foreach")
def siamese_triplet():
    net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 6))
    batch = {name: torch.randn(5, 10) for name in ("anchor", "near", "far")}
    return net, batch, lambda m, b: F.triplet_margin_loss(m(b["anchor"]), m(b["near"]), m(b["far"]), swap=True)


@entry("adamw-fused")
def contrastive_clip():
    net = nn.ModuleDict({"image": nn.Linear(12, 8), "text": nn.Linear(9, 8)})
    net.register_parameter("heat", nn.Parameter(torch.tensor(1.0)))
    batch = {"image": torch.randn(6, 12), "text": torch.randn(6, 9)}

    def loss(m, b):
        image, text = F.normalize(m["image"](b["image"]), dim=1), F.normalize(m["text"](b["text"]), dim=1)
        logits = image @ text.T * m.heat.exp()
        target = torch.arange(len(logits), device=logits.device)
        return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2

    return net, batch, loss


@entry("rmsprop-foreach")
def mixture_of_experts():
    class Net(nn.Module):
        """The best two of four experts per token, each expert on the tokens that chose it."""

        def __init__(self):
            super().__init__()
            self.gate, self.experts = nn.Linear(8, 4), nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

        def forward(self, x):
            weight, chosen = self.gate(x).softmax(-1).topk(2, -1)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                token, slot = torch.where(chosen == i)
                out = out.index_add(0, token, expert(x[token]) * weight[token, slot, None])
            return out

    return Net(), {"x": torch.randn(10, 8), "y": torch.randn(10, 8)}, regress


@entry("momentum")
def quantile_regression():
    net = nn.Sequential(nn.Linear(5, 16), nn.Softsign(), nn.Linear(16, 3))

    def loss(m, b):
        q = torch.tensor([0.1, 0.5, 0.9], device=b["x"].device)
        error = b["y"][:, None] - m(b["x"])
        return torch.maximum(q * error, (q - 1) * error).mean()

    return net, {"x": torch.randn(12, 5), "y": torch.randn(12)}, loss


@entry("sgd")
def hopfield_retrieval():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.memory = nn.Parameter(torch.randn(9, 6))

        def forward(self, x):
            for _ in range(3):
                x = F.softmax(4.0 * x @ self.memory.T, -1) @ self.memory
            return x

    return Net(), {"x": torch.randn(5, 6), "y": torch.randn(5, 6)}, regress


@entry("adamax-foreach")
def deep_q_learning():
    net = nn.ModuleDict({"now": nn.Linear(6, 3), "then": nn.Linear(6, 3)})
    batch = {
        "state": torch.randn(8, 6), "next": torch.randn(8, 6), "action": torch.randint(3, (8, 1)),
        "reward": torch.randn(8), "over": (torch.rand(8) > 0.7),
    }  # fmt: skip

    def loss(m, b):
        with torch.no_grad():
            best = m["then"](b["next"]).amax(1)
            target = b["reward"] + 0.9 * torch.where(b["over"], torch.zeros_like(best), best)
        return F.smooth_l1_loss(m["now"](b["state"]).gather(1, b["action"])[:, 0], target)

    return net, batch, loss


@entry("adadelta")
def spectral_and_weight_norm():
    net = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(6, 8)), nn.Tanh(),
        nn.utils.parametrizations.spectral_norm(nn.Linear(8, 2)),
    )  # fmt: skip
    return net, {"x": torch.randn(4, 6), "y": torch.randn(4, 2)}, regress


@entry("nadam-foreach")
def radial_basis_network():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.centre, self.width = nn.Parameter(torch.randn(7, 3)), nn.Parameter(torch.zeros(7))
            self.head = nn.Linear(7, 1)

        def forward(self, x):
            distance = ((x[:, None] - self.centre) ** 2).sum(-1)
            return self.head(torch.exp(-distance * self.width.exp()))

    return Net(), {"x": torch.randn(9, 3), "y": torch.randn(9, 1)}, regress


@entry("adam-amsgrad")
def fourier_features():
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    batch = {"x": torch.rand(10, 2), "b": torch.randn(2, 4), "y": torch.randn(10, 1)}

    def loss(m, b):
        angle = 6.2831853 * b["x"] @ b["b"]
        return F.mse_loss(m(torch.cat([angle.sin(), angle.cos()], 1)), b["y"])

    return net, batch, loss


@entry("adamw")
def gradient_clipping_and_checkpoint():
    from torch.utils.checkpoint import checkpoint

    net = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 12), nn.GELU(), nn.Linear(12, 1))

    def loss(m, b):
        y = m[4](checkpoint(m[:4], b["x"], use_reentrant=False))
        return F.mse_loss(y, b["y"]) + 1e-3 * sum((p * p).sum() for p in m.parameters())

    return net, {"x": torch.randn(7, 6), "y": torch.randn(7, 1)}, loss
