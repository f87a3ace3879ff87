"""Pads by reflection, replication and a constant (ReplicationPad.metal and Pad.h, from 2.15 on)."""

import torch
from harness import Check, checks
from inputs import DTYPES, hard, whole
from launch import as_words, blank, ceil_div
from packing import DIMS, packed, padded

PER_THREAD = 4  # elements of a row
TYPE = r"(?P<type>float2|half2|float|half|bfloat|int|long|short|char|uchar|bool|ushort|uint|ulong|float8_e4m3fn)"
SHAPE = (2, 3, 4, 5, 6)  # of three dimensions; fewer take the last ones
PADS = (2, 3, 1, 0, 2, 1)


def shape_of(dimensions: int) -> list[int]:
    return [*SHAPE[:2], *SHAPE[5 - dimensions :]]


def params(match, small: torch.Tensor, large_shape, dimensions: int) -> torch.Tensor:
    """The innermost dimension first, and what is not there is one element."""
    word = "i" if match["index"] == "i32" else "q"
    large = torch.empty(large_shape, device="meta")
    sizes = [[*x.shape[:1:-1], 1, 1][:3] for x in (small, large)]
    strides = [[*x.stride()[:1:-1], *[0] * (3 - dimensions), x.stride(1), x.stride(0)] for x in (small, large)]
    left = padded(PADS[: 2 * dimensions : 2], 3)
    return packed(f"20{word}", *sizes[0], *sizes[1], *left, *strides[0], *strides[1], small.size(1))


def places(mode: str, dimensions: int) -> torch.Tensor:
    """Where in the input each element of the output is from. torch pads floats alone."""
    shape = shape_of(dimensions)
    numbers = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).view(shape)
    names = {"reflection": "reflect", "replication": "replicate"}
    return torch.nn.functional.pad(numbers, PADS[: 2 * dimensions], names[mode]).long()


MODE = r"(?P<mode>reflection|replication)_pad(?P<dimensions>[123])d"


@checks(rf"{MODE}_forward_{TYPE}_(?P<index>i32|i64)", since="2.15")
def forward(kernel, match):
    dtype, dimensions = DTYPES[match["type"]], int(match["dimensions"])
    shape, source = shape_of(dimensions), places(match["mode"], dimensions)
    x = hard(dtype, torch.Size(shape).numel()).view(shape)
    out = blank(dtype, *source.shape)
    size = [*source.shape[:1:-1], 1, 1][:3]
    kernel(
        *(x.to("mps"), out, params(match, x, source.shape, dimensions)),
        threads=(ceil_div(size[0], PER_THREAD), size[1], size[2] * shape[0] * shape[1]),
    )
    yield Check("values", as_words(out), as_words(x).flatten()[source])


@checks(rf"{MODE}_backward_{TYPE}_(?P<index>i32|i64)", since="2.15")
def backward(kernel, match):
    """A thread gathers what has come from its elements."""
    dtype, dimensions = DTYPES[match["type"]], int(match["dimensions"])
    shape, source = shape_of(dimensions), places(match["mode"], dimensions)
    grad = whole(dtype, *source.shape, low=-2, high=2)
    small = torch.empty(shape, dtype=dtype)
    out = blank(dtype, *shape)
    size = [*shape[:1:-1], 1, 1][:3]
    kernel(
        *(grad.to("mps"), out, params(match, small, source.shape, dimensions)),
        threads=(ceil_div(size[0], PER_THREAD), size[1], size[2] * shape[0] * shape[1]),
    )
    wide = grad.to(torch.complex128 if dtype.is_complex else torch.float64).flatten()
    expected = torch.zeros(small.numel(), dtype=wide.dtype).index_add(0, source.flatten(), wide)
    yield Check("gradients", out, expected.view(shape).to(dtype))


CONSTANT_PADS = ((1, 2), (0, 3), (2, 0))


def constant_expected(x: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    out = value.expand([size + sum(pad) for size, pad in zip(x.shape, CONSTANT_PADS, strict=True)]).clone()
    inside = tuple(slice(left, left + size) for size, (left, _) in zip(x.shape, CONSTANT_PADS, strict=True))
    out[inside] = x
    return out


def bits(x: torch.Tensor) -> torch.Tensor:
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return x.cpu().view(words[x.element_size()])


def constant_inputs(match) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = DTYPES[match["type"]]
    return bits(hard(dtype, 120).view(4, 5, 6)), bits(hard(dtype, 14)[9:10])


@checks(rf"constant_pad_nd_{TYPE}_(?P<index>u32|u64)", since="2.15")
def constant(kernel, match):
    x, value = constant_inputs(match)
    memory = x.permute(1, 2, 0).contiguous()
    expected = constant_expected(x, value)
    out = torch.zeros_like(expected, device="mps")
    strides = (memory.permute(2, 0, 1).stride(), out.stride())
    word = "I" if match["index"] == "u32" else "Q"
    arrays = [expected.shape, x.shape, *strides, [left for left, _ in CONSTANT_PADS]]
    numbers = [number for array in arrays for number in padded(list(array)[::-1])]
    kernel(
        *(memory.to("mps"), out, packed(f"{5 * DIMS}{word}I", *numbers, 3), value.to("mps")),
        threads=(ceil_div(expected.size(2), PER_THREAD), expected.size(0) * expected.size(1)),
    )
    yield Check("values", out, expected)


@checks(rf"constant_pad_nd_dense_{TYPE}", since="2.15")
def dense_constant(kernel, match):
    x, value = constant_inputs(match)
    expected = constant_expected(x, value)
    out = torch.zeros_like(expected, device="mps")
    arrays = [x.shape, expected.shape, [left for left, _ in CONSTANT_PADS]]
    numbers = [number for array in arrays for number in list(array)[::-1]]
    kernel(
        *(x.to("mps"), out, packed("9I", *numbers), value.to("mps")),
        threads=(ceil_div(expected.size(2), PER_THREAD), expected.size(1), expected.size(0)),
    )
    yield Check("values", out, expected)
