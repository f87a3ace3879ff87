"""Metal's mathematical functions against torch's in double precision: within the bounds of the specification.

The bounds are those of the Metal Shading Language Specification, "ULPs and Relative Error", for precise mathematics: a
million floats for each function, and every half.
"""

from __future__ import annotations

import math

import pytest
import torch

POINTS = 1 << 20
SMALLEST = {torch.float32: 2.0**-126, torch.half: 2.0**-14}
DIGITS = {torch.float32: 24, torch.half: 11}


def near_zero(x):
    """(x less the nearest whole number, which loses nothing; 1 where that number is even, else -1)."""
    whole = torch.round(x)
    return x - whole, 1 - 2 * torch.remainder(whole, 2)


def sin_of_pi(x):
    rest, sign = near_zero(x)
    return sign * torch.sin(math.pi * rest)


def cos_of_pi(x):
    rest, sign = near_zero(x)
    return sign * torch.sin(math.pi * (0.5 - rest.abs()))


def tan_of_pi(x):
    return sin_of_pi(x) / cos_of_pi(x)


# name: (reference in double, the largest error of floats in units of the last place, the domain)
ANYWHERE = (-math.inf, math.inf)
UNARY = {
    "acos": (torch.acos, 4, (-1, 1)),
    "acosh": (torch.acosh, 4, (1, math.inf)),
    "asin": (torch.asin, 4, (-1, 1)),
    "asinh": (torch.asinh, 4, ANYWHERE),
    "atan": (torch.atan, 5, ANYWHERE),
    "atanh": (torch.atanh, 5, (-1, 1)),
    "ceil": (torch.ceil, 0, ANYWHERE),
    "cos": (torch.cos, 4, ANYWHERE),
    "cosh": (torch.cosh, 4, (-89, 89)),
    "cospi": (cos_of_pi, 4, (-1e5, 1e5)),
    "exp": (torch.exp, 4, (-87, 88)),
    "exp2": (torch.exp2, 4, (-126, 127)),
    "exp10": (lambda x: torch.pow(torch.full_like(x, 10), x), 4, (-37, 38)),
    "fabs": (torch.abs, 0, ANYWHERE),
    "floor": (torch.floor, 0, ANYWHERE),
    "log": (torch.log, 4, (0, math.inf)),
    "log2": (torch.log2, 4, (0, math.inf)),
    "log10": (torch.log10, 4, (0, math.inf)),
    "rint": (torch.round, 0, ANYWHERE),
    "round": (lambda x: torch.sign(x) * torch.floor(x.abs() + 0.5), 0, ANYWHERE),
    "rsqrt": (torch.rsqrt, 0.5, (0, math.inf)),
    "sin": (torch.sin, 4, ANYWHERE),
    "sinh": (torch.sinh, 4, (-89, 89)),
    "sinpi": (sin_of_pi, 4, (-1e5, 1e5)),
    "sqrt": (torch.sqrt, 0.5, (0, math.inf)),
    "tan": (torch.tan, 6, ANYWHERE),
    "tanh": (torch.tanh, 5, ANYWHERE),
    "tanpi": (tan_of_pi, 6, (-1e5, 1e5)),
    "trunc": (torch.trunc, 0, ANYWHERE),
}
BINARY = {
    "atan2": (torch.atan2, 6),
    "fdim": (lambda x, y: torch.clamp(x - y, min=0), 0.5),
    "fmax": (torch.fmax, 0),
    "fmin": (torch.fmin, 0),
    "fmod": (torch.fmod, 0),
    "pow": (torch.pow, 16),
    "powr": (torch.pow, 16),
}
# Of halves: a unit in the last place, and where floats are exact no error.
HALF_BOUND = 1.0

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void unary(device {type}* out, device const {type}* x, uint i [[thread_position_in_grid]]) {{
  out[i] = precise::{name}(x[i]);
}}
"""
SOURCE_OF_TWO = """
#include <metal_stdlib>
using namespace metal;
kernel void binary(device {type}* out, device const {type}* x, device const {type}* y,
                   uint i [[thread_position_in_grid]]) {{
  out[i] = precise::{name}(x[i], y[i]);
}}
"""


def floats(domain, seed: int) -> torch.Tensor:
    """Of every size that the domain has, and evenly within it where it is bounded."""
    generator = torch.Generator().manual_seed(seed)
    low, high = domain
    bits = torch.randint(-(2**31), 2**31, (POINTS,), generator=generator, dtype=torch.int64).to(torch.int32)
    any_size = bits.view(torch.float32)
    if math.isfinite(low) and math.isfinite(high):
        even = torch.rand(POINTS, generator=generator) * (high - low) + low
        any_size = torch.where(torch.arange(POINTS) % 2 == 0, even.to(torch.float32), any_size)
    inside = (any_size >= low) & (any_size <= high) & any_size.isfinite() & (any_size.abs() >= SMALLEST[torch.float32])
    return torch.where(inside, any_size, torch.tensor(max(low, min(high, 0.75))))


def halves() -> torch.Tensor:
    return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.half)


def worst(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest error in units of the last place, among results that are finite and not denormal."""
    dtype = actual.dtype
    rounded = expected.to(dtype)
    judged = rounded.isfinite() & (expected.abs() >= SMALLEST[dtype])
    _, exponent = torch.frexp(expected[judged].abs())
    unit = torch.ldexp(torch.ones_like(expected[judged]), exponent - DIGITS[dtype])
    error = (actual[judged].double() - expected[judged]).abs() / unit
    assert not error.isnan().any(), "a number is expected, and NaN came out"
    return error.max().item() if error.numel() else 0.0


def run(source: str, *inputs: torch.Tensor) -> torch.Tensor:
    library = torch.mps.compile_shader(source)
    out = torch.zeros_like(inputs[0], device="mps")
    getattr(library, "unary" if len(inputs) == 1 else "binary")(out, *(x.to("mps") for x in inputs))
    return out.cpu()


@pytest.mark.parametrize("name", UNARY)
def test_floats(name):
    reference, bound, domain = UNARY[name]
    x = floats(domain, seed=len(name))
    actual = run(SOURCE.format(type="float", name=name), x)
    assert worst(actual, reference(x.double())) <= bound + 1e-6


@pytest.mark.parametrize("name", UNARY)
def test_every_half(name):
    reference, bound, (low, high) = UNARY[name]
    x = halves()
    actual = run(SOURCE.format(type="half", name=name), x)
    inside = (x >= low) & (x <= high) & (x.abs() >= SMALLEST[torch.half])
    assert worst(actual[inside], reference(x[inside].double())) <= min(bound, HALF_BOUND) + 1e-6


@pytest.mark.parametrize("name", BINARY)
def test_pairs_of_floats(name):
    reference, bound = BINARY[name]
    powers = name.startswith("pow")
    x = floats((2.0**-20, 2.0**20) if powers else (-1e6, 1e6), seed=1)
    y = floats((-6, 6) if powers else (-1e6, 1e6), seed=2)
    actual = run(SOURCE_OF_TWO.format(type="float", name=name), x, y)
    assert worst(actual, reference(x.double(), y.double())) <= bound + 1e-6


def test_a_wrong_number_is_seen():
    x = floats((-87, 88), seed=3)
    wrong = run(SOURCE.format(type="float", name="exp2"), x)
    assert worst(wrong, torch.exp(x.double())) > 4
