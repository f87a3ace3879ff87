"""Much arithmetic on little data."""

from __future__ import annotations

import math

import torch

from .case import Case, Step, whole


def mandelbrot() -> Case:
    width, height = 256, 256
    data = {"out": torch.empty(height, width, dtype=torch.int32), "limit": 256, "left": -2.0, "top": -1.25}
    data |= {"step": 2.5 / width, "width": width, "height": height}
    step = Step("mandelbrot", "out limit left top step", (width, height), (32, 8))
    arguments = "out limit left top step width height"
    # On the rim of the set the last bit decides after how many steps a point leaves.
    return Case("Mandelbrot", "mandelbrot", data, "out", (step,), arguments, mismatches=0.005)


def black_scholes() -> Case:
    count = 1 << 16
    data = {"price": torch.rand(count) * 25 + 5, "strike": torch.rand(count) * 99 + 1}
    data |= {"years": torch.rand(count) * 9.75 + 0.25, "call": torch.empty(count), "put": torch.empty(count)}
    data |= {"rate": 0.02, "volatility": 0.3, "count": count}
    arguments = "price strike years call put rate volatility"
    step = Step("black_scholes", arguments, **whole(count, 256))
    return Case("Black-Scholes", "black_scholes", data, "call put", (step,), f"{arguments} count", 1e-5)


def nbody() -> Case:
    count = 1024
    bodies = torch.cat([torch.randn(count, 3), torch.rand(count, 1)], 1)
    data = {"bodies": bodies, "out": torch.empty(count, 4), "count": count, "softening": 0.01}
    step = Step("nbody", "bodies out count softening", **whole(count, 256))
    return Case("n-body", "nbody", data, "out", (step,), "bodies out count softening", 1e-3)


def binomial() -> Case:
    options, steps, years, rate, volatility = 64, 255, 1.0, 0.02, 0.3
    up = volatility * math.sqrt(years / steps)
    growth = math.exp(rate * years / steps)
    data = {"price": torch.rand(options) * 25 + 5, "strike": torch.rand(options) * 25 + 5, "out": torch.empty(options)}
    data |= {"probability": (growth - math.exp(-up)) / (math.exp(up) - math.exp(-up))}
    data |= {"up": up, "discount": 1 / growth, "options": options}
    arguments = "price strike out up probability discount"
    step = Step("binomial", arguments, **whole(options * 256, 256))
    return Case("binomial options", "binomial", data, "out", (step,), f"{arguments} options", 1e-5)


CASES = (mandelbrot, black_scholes, nbody, binomial)
