"""Bytes that go elsewhere as they are: copies of rows and blocks (Copy.metal, from 2.14 on), flip (from 2.15 on)."""

import torch
from harness import Check, checks
from launch import ceil_div
from packing import packed

TILE = 16  # bytes that a thread moves
GUARD = 77


def random_bytes(*shape: int) -> torch.Tensor:
    return torch.randint(0, 256, shape, dtype=torch.uint8)


def guarded(*shape: int) -> torch.Tensor:
    return torch.full(shape, GUARD, dtype=torch.uint8)


@checks("contiguous_byte_copy", since="2.14")
def contiguous(kernel, match):
    for count, base, shift in ((1000, 0, 0), (1003, 64, 0), (45, 3, 1), (256, 8, 2), (7, 0, 5)):
        x = random_bytes(count + base + shift + 20)
        out = guarded(count + base + 20).to("mps")
        kernel(out, x.to("mps")[shift:], packed("I", count), base, threads=ceil_div(count, TILE))
        expected = guarded(count + base + 20)
        expected[base : base + count] = x[shift + base : shift + base + count]
        yield Check(f"{count} from {base}, {shift}", out, expected)


@checks("inner_contiguous_copy", since="2.14")
def rows(kernel, match):
    for inner in (5, 16, 64, 77):
        x, out = random_bytes(4, 9, inner + 3), guarded(9, 4, inner + 8).to("mps")
        own, target = list(x.stride())[:2][::-1], [out.stride(0), out.stride(1)]
        kernel(*(out, x.to("mps"), [9, 4], own, target, packed("II", 2, inner)), threads=(ceil_div(inner, TILE), 36))
        expected = guarded(9, 4, inner + 8)
        expected[:, :, :inner] = x[:, :, :inner].transpose(0, 1)
        yield Check(f"{inner} bytes", out, expected)


@checks(r"inner_contiguous_scatter_(?P<index>u32|u64)", since="2.14")
def blocks(kernel, match):
    """Slices that lie after each other, each to its place in a row."""
    for count, size, begin in ((9, 37, 0), (4, 64, 64), (3, 200, 50)):
        stride, offset = size + 24, 8
        x = random_bytes(count * size)
        out = guarded(count, stride).to("mps")
        part = count * size - begin
        layout = "4II" if match["index"] == "u32" else "4QI"
        kernel(x.to("mps"), out, packed(layout, begin, size, stride, offset, part), threads=ceil_div(part, TILE))
        expected = guarded(count, stride)
        flat = x.clone()
        moved = expected[:, offset : offset + size]
        kept = torch.arange(count * size).view(count, size) >= begin
        moved[kept] = flat.view(count, size)[kept]
        yield Check(f"{count} slices of {size} from {begin}", out, expected)


BITS = {"8": torch.uint8, "16": torch.int16, "32": torch.int32, "64": torch.int64}


@checks(r"flip_(?P<direct>direct_)?(?P<bits>\d+)bit", since="2.15")
def flip(kernel, match):
    dtype = BITS[match["bits"]]
    item = dtype.itemsize
    x = random_bytes(4, 5, 6 * item).view(dtype)
    for dims in ((2,), (0, 2), (0, 1, 2)):
        out = torch.zeros_like(x, device="mps")
        signs = [-1 if d in dims else 1 for d in (2, 1, 0)]
        target = [step * item for step in x.stride()[::-1]]
        own = [sign * step for sign, step in zip(signs, target, strict=True)]
        first = sum((x.size(d) - 1) * x.stride(d) for d in dims)
        start = x.to("mps").flatten()[first:]
        strides = [packed("3i", *target), packed("3i", *own)]
        if match["direct"]:
            kernel(out, start, *strides, threads=(6, 5, 4))
        else:
            kernel(out, start, packed("3I", 6, 5, 4), *strides, packed("I", 3), threads=x.numel())
        yield Check(f"{dims}", out, x.flip(dims))
