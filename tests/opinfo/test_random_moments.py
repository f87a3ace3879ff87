"""Random operators cannot be held against the CPU number by number; their moments can be held against the mathematics.

Samples are large and seeded: the bounds are about six standard errors, so a failure is a wrong distribution.
"""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

N = 200_000


def empty() -> torch.Tensor:
    return torch.empty(N, device="mps")


# name: (draw, mean, standard deviation)
DRAWS = {
    "rand": (lambda: torch.rand(N, device="mps"), 0.5, math.sqrt(1 / 12)),
    "randn": (lambda: torch.randn(N, device="mps"), 0.0, 1.0),
    "randn, half": (lambda: torch.randn(N, device="mps", dtype=torch.half).float(), 0.0, 1.0),
    "randn, bfloat16": (lambda: torch.randn(N, device="mps", dtype=torch.bfloat16).float(), 0.0, 1.0),
    "uniform_": (lambda: empty().uniform_(-2, 6), 2.0, 8 / math.sqrt(12)),
    "normal_": (lambda: empty().normal_(3, 2), 3.0, 2.0),
    "normal, tensors": (lambda: torch.normal(torch.full((N,), 3.0), torch.full((N,), 2.0)).to("mps"), 3.0, 2.0),
    "normal, tensors on mps": (
        lambda: torch.normal(torch.full((N,), 3.0, device="mps"), torch.full((N,), 2.0, device="mps")),
        3.0,
        2.0,
    ),
    "exponential_": (lambda: empty().exponential_(2.0), 0.5, 0.5),
    "log_normal_": (
        lambda: empty().log_normal_(0.0, 0.25),
        math.exp(0.03125),
        math.sqrt((math.exp(0.0625) - 1) * math.exp(0.0625)),
    ),
    "geometric_": (lambda: empty().geometric_(0.25), 4.0, math.sqrt(0.75) / 0.25),
    "bernoulli_": (lambda: empty().bernoulli_(0.3), 0.3, math.sqrt(0.21)),
    "bernoulli of probabilities": (lambda: torch.bernoulli(torch.full((N,), 0.3, device="mps")), 0.3, math.sqrt(0.21)),
    "randint": (lambda: torch.randint(0, 10, (N,), device="mps").float(), 4.5, math.sqrt(99 / 12)),
    "random_": (lambda: empty().random_(0, 10), 4.5, math.sqrt(99 / 12)),
    "multinomial": (
        lambda: torch.multinomial(torch.tensor([1.0, 2.0, 1.0], device="mps"), N, replacement=True).float(),
        1.0,
        math.sqrt(0.5),
    ),
    "dropout": (lambda: F.dropout(torch.ones(N, device="mps"), 0.25), 1.0, math.sqrt(0.25 / 0.75)),
    "cauchy_, squashed": (lambda: empty().cauchy_().atan(), 0.0, math.pi / math.sqrt(12)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_mean_and_deviation(name):
    draw, mean, deviation = DRAWS[name]
    torch.manual_seed(1)
    x = draw().cpu().double()
    bound = 6 * deviation / math.sqrt(N)
    assert abs(x.mean().item() - mean) < bound + 1e-3 * deviation
    assert abs(x.std().item() - deviation) < 0.03 * deviation


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_repeats_and_the_next_draw_differs(name):
    draw = DRAWS[name][0]
    torch.manual_seed(7)
    first, second = draw().cpu(), draw().cpu()
    torch.manual_seed(7)
    assert torch.equal(first, draw().cpu())
    assert not torch.equal(first, second)


def test_randperm_is_a_permutation():
    torch.manual_seed(1)
    p = torch.randperm(1000, device="mps").cpu()
    assert torch.equal(p.sort().values, torch.arange(1000))
    assert not torch.equal(p, torch.arange(1000))


def test_multinomial_without_replacement_draws_each_once():
    torch.manual_seed(1)
    drawn = torch.multinomial(torch.ones(100, device="mps"), 100).cpu()
    assert torch.equal(drawn.sort().values, torch.arange(100))
