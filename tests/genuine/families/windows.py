"""Repeat.metal, ReplicationPad.metal and UnfoldBackward.metal: elements that are used several times."""

import torch
from harness import Check, checks
from inputs import DTYPES, hard, whole
from launch import blank, widest
from packing import packed

TYPE = r"(?P<type>float2|half2|float|half|bfloat|int|long|short|char|uchar|bool)"


@checks(r"repeat_interleave_int(?P<bits>32|64)_t")
def repeat_interleave(kernel, match):
    dtype = {"32": torch.int32, "64": torch.int64}[match["bits"]]
    spread = torch.randint(0, 6, (300,)).to(dtype)
    repeats = spread[::3]
    ends = repeats.cumsum(0)
    out = blank(dtype, int(ends[-1]))
    kernel(spread.to("mps"), ends.to("mps"), out, 3, threads=100)
    yield Check("repeated", out, torch.repeat_interleave(repeats).to(dtype))


PADDINGS = ((4, 2), (0, 3), (-2, 5), (3, -1))


@checks(rf"replication_pad1d_forward_{TYPE}")
def pad(kernel, match):
    dtype = DTYPES[match["type"]]
    for width in (1, 9):
        for left, right in PADDINGS if width > 1 else PADDINGS[:2]:
            x = hard(dtype, 3 * 4 * width).view(3, 4, width)
            wide = width + left + right
            out = blank(dtype, 3, 4, wide)
            kernel(
                *(x.to("mps"), out, packed("iiii", width, wide, left, right)),
                threads=(wide, 4, 3),
                group_size=(wide, 4, 3),
            )
            source = (torch.arange(wide) - left).clamp(0, width - 1)
            yield Check(f"{width} by {left} and {right}", out, x[..., source])


@checks(rf"replication_pad1d_backward_{TYPE}")
def pad_backward(kernel, match):
    dtype = DTYPES[match["type"]]
    for width in (1, 9):
        for left, right in PADDINGS if width > 1 else PADDINGS[:2]:
            wide = width + left + right
            grad = whole(dtype, 3, 4, wide)
            out = blank(dtype, 3, 4, width)
            kernel(
                *(grad.to("mps"), out, packed("iiii", width, wide, left, right)),
                threads=(width, 4, 3),
                group_size=(width, 4, 3),
            )
            source = (torch.arange(wide) - left).clamp(0, width - 1)
            expected = torch.zeros_like(widest(out.cpu())).index_add(-1, source, widest(grad))
            yield Check(f"{width} by {left} and {right}", out, expected.to(dtype))


@checks(rf"unfold_backward_{TYPE}")
def unfold_backward(kernel, match):
    dtype = DTYPES[match["type"]]
    for size, step in ((3, 1), (4, 2), (2, 3)):
        folds = (11 - size) // step + 1
        storage = whole(dtype, size, 3, folds, 5)
        grad = storage.permute(1, 2, 3, 0)
        out = blank(dtype, 3, 11, 5)
        kernel(
            *(storage.to("mps"), out, list(grad.stride()), [3, 11, 5], list(out.stride())),
            packed("IIII", 1, size, step, 3),
            threads=out.numel(),
        )
        expected = torch.ops.aten.unfold_backward(widest(grad), [3, 11, 5], 1, size, step)
        yield Check(f"{size} in steps of {step}", out, expected.to(dtype))
