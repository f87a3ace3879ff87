"""Amp.metal, Assert.metal and Dropout.metal."""

import torch
from harness import Check, checks
from inputs import DTYPES, hard, ordinary
from launch import blank, ceil_div, flushed
from packing import error_buffer, error_count, packed, padded

TYPE = r"(?P<type>float2|half2|float|half|bfloat)"


def unscaled(x: torch.Tensor, scale: float) -> torch.Tensor:
    """The product is of floats; denormals of floats are zeros on both sides of it."""
    return flushed(flushed(flushed(x).float() * scale).to(x.dtype)) if scale != 1 else x


def gradients(dtype: torch.dtype, count: int, finite: bool) -> torch.Tensor:
    x = ordinary(dtype, count) if finite else hard(dtype, count)
    return torch.where(x.abs() < 1e-30, torch.ones_like(x), x)  # what becomes of denormals is up to the conversion


@checks(rf"ampNonFiniteCheckAndUnscaleSingle_{TYPE}")
def unscale_one(kernel, match):
    for finite, scale in ((True, 0.25), (False, 3.0), (True, 1.0)):
        x = gradients(DTYPES[match["type"]], 300, finite)
        data, found = x.to("mps"), torch.zeros(1, device="mps")
        kernel(data, found, scale, threads=300, group_size=256)
        yield Check(f"scale {scale}", data, unscaled(x, scale))
        yield Check("found", found, torch.tensor([float(not finite)]))


@checks(rf"ampNonFiniteCheckAndUnscale_{TYPE}")
def unscale_many(kernel, match):
    dtype, chunk, most = DTYPES[match["type"]], 65536, 32
    for finite, scale in ((True, 0.25), (False, 3.0)):
        counts = (300, chunk + 77, 1)
        tensors = [gradients(dtype, counts[0], finite), *(ordinary(dtype, count) for count in counts[1:])]
        data, found = [x.to("mps") for x in tensors], torch.zeros(1, device="mps")
        # Each threadgroup has a chunk of a tensor.
        groups = [(i, part) for i, count in enumerate(counts) for part in range(ceil_div(count, chunk))]

        plan = [
            *padded(counts, most),
            *padded([i for i, _ in groups], most),
            *padded([part for _, part in groups], most),
        ]
        kernel([*data], plan, found, scale, threads=len(groups) * 256, group_size=256)
        for i, x in enumerate(tensors):
            yield Check(f"tensor {i}, scale {scale}", data[i], unscaled(x, scale))
        yield Check("found", found, torch.tensor([float(not finite)]))


@checks(rf"ampUpdateScale_{TYPE}")
def update_scale(kernel, match):
    dtype = DTYPES[match["type"]]
    for found, tracked, expected, tracker in ((1.0, 3, 4.0, 0), (0.0, 3, 8.0, 4), (0.0, 4, 16.0, 0)):
        scale = torch.tensor([8.0]).to(dtype).to("mps")
        growth = torch.tensor([tracked], dtype=torch.int32, device="mps")
        factors = [torch.tensor([factor]).to(dtype).to("mps") for factor in (2.0, 0.5)]
        kernel(scale, growth, torch.tensor([found], device="mps"), *factors, packed("i", 5), threads=1)
        yield Check("scale", scale, torch.tensor([expected]).to(dtype))
        yield Check("tracker", growth, torch.tensor([tracker], dtype=torch.int32))


@checks(r"assert_async_(?P<bytes>\d)")
def assert_async(kernel, match):
    dtype = {"1": torch.int8, "2": torch.int16, "4": torch.int32, "8": torch.int64}[match["bytes"]]
    words = b"not what was meant"
    for value in (0, 1, torch.iinfo(dtype).min):
        errors = error_buffer()
        message = torch.tensor(list(words + bytes(250 - len(words))), dtype=torch.uint8)
        kernel(torch.tensor([value], dtype=dtype, device="mps"), message.to("mps"), errors, threads=1)
        yield Check(f"{value}", error_count(errors), torch.tensor(int(value == 0)))
        if value == 0:
            said = bytes(errors.cpu()[4 + 256 : 4 + 256 + len(words)].tolist())
            yield Check("message", torch.tensor(list(said)), torch.tensor(list(words)))


MASK = 0xFFFFFFFF


def philox(seed: int, index: int) -> list[int]:
    """Nine rounds: the loop that PyTorch calls ten stops one short."""
    counter = [0, 0, index >> 32 & MASK, index & MASK]
    key = [seed >> 32 & MASK, seed & MASK]
    for _ in range(9):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            second >> 32 ^ counter[1] ^ key[0],
            second & MASK,
            first >> 32 ^ counter[3] ^ key[1],
            first & MASK,
        ]
        key = [key[0] + 0x9E3779B9 & MASK, key[1] + 0xBB67AE85 & MASK]
    return counter


def uniform(words: list[int]) -> torch.Tensor:
    return torch.tensor([word & 0x7FFFFFFF for word in words]).float() * torch.tensor(4.6566127342e-10)


@checks(rf"dropout_fwd_{TYPE}")
def dropout(kernel, match):
    dtype, count, seed, offset, kept = DTYPES[match["type"]], 301, 0x123456789ABCDEF, 0x700000003, 0.625
    x = ordinary(dtype, count)
    out, mask = blank(dtype, count), blank(torch.bool, count)
    kernel(
        *(out, mask, x.to("mps"), packed("ff", kept, 2.0), packed("qq", seed, offset), packed("I", count)),
        threads=ceil_div(count, 4),
    )
    words = [word for i in range(ceil_div(count, 4)) for word in philox(seed, offset + i)]
    expected = uniform(words)[:count] < kept
    yield Check("mask", mask, expected)
    yield Check("values", out, torch.where(expected, x * 2, torch.zeros(1, dtype=dtype)))


@checks(rf"dropout_bwd_{TYPE}")
def dropout_backward(kernel, match):
    dtype = DTYPES[match["type"]]
    grad, mask = ordinary(dtype, 300), torch.rand(300) < 0.5
    out = blank(dtype, 300)
    kernel(out, grad.to("mps"), mask.to("mps"), 2.0, threads=300)
    yield Check("values", out, torch.where(mask, grad * 2, torch.zeros(1, dtype=dtype)))
