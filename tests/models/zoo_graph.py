"""Models on graphs and sets: messages by scatter, index_add and segment softmax."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from tour import entry


def graph(nodes=12, edges=40, features=8, classes=4):
    return {
        "x": torch.randn(nodes, features),
        "source": torch.randint(nodes, (edges,)),
        "target": torch.randint(nodes, (edges,)),
        "y": torch.randint(classes, (nodes,)),
    }


@entry("adam")
def gnn_by_index_add():
    class Layer(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.own, self.others = nn.Linear(a, b), nn.Linear(a, b, bias=False)

        def forward(self, x, source, target):
            return self.own(x) + torch.zeros_like(self.own(x)).index_add(0, target, self.others(x)[source])

    net = nn.ModuleList([Layer(8, 16), Layer(16, 4)])

    def loss(m, b):
        x = F.relu(m[0](b["x"], b["source"], b["target"]))
        return F.nll_loss(F.log_softmax(m[1](x, b["source"], b["target"]), 1), b["y"])

    return net, graph(), loss


@entry("momentum")
def gnn_by_scatter_mean():
    net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))

    def loss(m, b):
        x, index = b["x"], b["target"][:, None].expand(-1, b["x"].shape[1])
        total = torch.zeros_like(x).scatter_add(0, index, x[b["source"]])
        count = torch.zeros_like(x).scatter_add(0, index, torch.ones_like(x[b["source"]]))
        return F.cross_entropy(m(torch.cat([x, total / count.clamp(min=1)], 1)), b["y"])

    return net, graph(), loss


@entry("adamw")
def graph_attention():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.project, self.score, self.head = nn.Linear(8, 12), nn.Linear(24, 1), nn.Linear(12, 4)

        def forward(self, b):
            x, s, t = self.project(b["x"]), b["source"], b["target"]
            score = F.leaky_relu(self.score(torch.cat([x[s], x[t]], 1))[:, 0], 0.2)
            top = torch.full((len(x),), -1e9, device=x.device).scatter_reduce(0, t, score.detach(), "amax")
            weight = (score - top[t]).exp()
            norm = torch.zeros(len(x), device=x.device).index_add(0, t, weight)
            message = x[s] * (weight / norm[t])[:, None]
            return self.head(F.elu(torch.zeros_like(x).index_add(0, t, message)))

    return Net(), graph(), lambda m, b: F.cross_entropy(m(b), b["y"])


@entry("sgd")
def graph_convolution_dense():
    net = nn.ModuleList([nn.Linear(8, 16, bias=False), nn.Linear(16, 4, bias=False)])

    def loss(m, b):
        adjacency = torch.eye(len(b["x"]), device=b["x"].device).index_put(
            (b["source"], b["target"]), torch.ones(len(b["source"]), device=b["x"].device)
        )
        degree = adjacency.sum(1).rsqrt()
        adjacency = degree[:, None] * adjacency * degree
        return F.cross_entropy(adjacency @ m[1](F.relu(adjacency @ m[0](b["x"]))), b["y"])

    return net, graph(), loss


@entry("adam-foreach")
def point_set():
    net = nn.ModuleDict({"each": nn.Sequential(nn.Linear(3, 16), nn.ReLU()), "all": nn.Linear(16, 4)})
    batch = {"x": torch.randn(4, 20, 3), "y": torch.randint(4, (4,))}
    return net, batch, lambda m, b: F.cross_entropy(m["all"](m["each"](b["x"]).max(1).values), b["y"])
