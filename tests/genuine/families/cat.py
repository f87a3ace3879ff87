"""Shape.metal: cat, of one input into its place in the output, with the conversion to the output's type."""

import torch
from harness import Check, checks
from inputs import DTYPES, hard, ordinary
from launch import blank, flushed, strides_of
from packing import DIMS, packed, padded

TYPE = r"float8_e4m3fn|float2|half2|float|half|bfloat|int|long|short|char|uchar|bool|ushort|uint|ulong"
OFFSET = 2


def values_for(source: torch.dtype, target: torch.dtype, count: int) -> torch.Tensor:
    """Hard ones wherever the conversion is defined: not from floats to integers that cannot hold them."""
    floating = source.is_floating_point or source.is_complex
    if floating and not (target.is_floating_point or target.is_complex or target == torch.bool):
        x = ordinary(source, count)
        return x.abs() if not target.is_signed else x
    if target == torch.float16 and not floating:  # beyond half's range
        return ordinary(source, count)
    x = hard(source, count)
    # What becomes of a bfloat's denormals when they are widened is open.
    return flushed(x) if source == torch.bfloat16 and source != target else x


@checks(rf"cat_(?P<index>int32_t|int64_t)_(?P<source>{TYPE})_(?P<target>{TYPE})")
def cat(kernel, match):
    source, target = DTYPES[match["source"]], DTYPES[match["target"]]
    letter = {"int32_t": "i", "int64_t": "q"}[match["index"]]
    for shape, dim, flip in (((5, 7, 9), 1, False), ((3, 11, 6), 2, True), ((315,), 0, False)):
        count = torch.Size(shape).numel()
        storage = values_for(source, target, count)
        # Read against the grain where `flip` says so.
        stride = strides_of(shape[::-1])[::-1] if flip else strides_of(shape)
        x = storage.as_strided(shape, stride)
        whole = list(shape)
        whole[dim] += OFFSET + 1
        out = blank(target, *whole)
        shared = packed(f"ii{2 * DIMS}{letter}", len(shape), dim, *padded(strides_of(whole)), *padded(whole))
        inputs = packed(f"{2 + 2 * DIMS}{letter}", OFFSET, 0, *padded(stride), *padded(shape))
        kernel(storage.to("mps"), out, shared, inputs, threads=count)
        expected = blank(target, *whole).cpu()
        expected.narrow(dim, OFFSET, shape[dim]).copy_(flushed(x).to(target) if source != target else x)
        yield Check(f"{shape} along {dim}", out, expected)
