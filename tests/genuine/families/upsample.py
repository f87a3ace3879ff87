"""Resizing in one, two and three dimensions, and its gradients."""

import torch
from harness import Check, checks, is_since
from inputs import DTYPES, hard, ordinary
from packing import mps, packed, padded, rounding, with_specials

SHAPES = {
    1: [((2, 3, 5), (8,)), ((1, 2, 9), (4,)), ((1, 1, 1), (3,))],
    2: [((2, 3, 5, 7), (8, 4)), ((1, 2, 9, 3), (4, 6)), ((1, 1, 1, 1), (3, 2))],
    3: [((2, 2, 3, 5, 4), (6, 3, 5)), ((1, 1, 1, 2, 1), (1, 1, 3))],
}
MODES = {
    "linear1d": "linear",
    "bilinear2d": "bilinear",
    "bilinear2d_aa": "bilinear",
    "bicubic2d": "bicubic",
    "bicubic2d_aa": "bicubic",
    "nearest1d": "nearest",
    "nearest2d": "nearest",
    "nearest_exact1d": "nearest-exact",
    "nearest_exact2d": "nearest-exact",
    "nearest_3d": "nearest",
    "nearest_exact_3d": "nearest-exact",
    "trilinear": "trilinear",
}


def scale(before, after, align_corners):
    if align_corners:
        return (before - 1) / (after - 1) if after > 1 else 0.0
    return before / after


def arguments(small, large, align_corners):
    """Of input and output, or of their gradients; sizes and strides, and the scales of the last dimension first."""
    scales = [scale(a, b, align_corners) for a, b in zip(small.shape[2:], large.shape[2:], strict=True)][::-1]
    if small.dim() == 5:
        layout = [*small.stride(), *small.shape, *large.stride(), *large.shape]
        return [packed("20Q3f?", *layout, *scales, align_corners)]
    if is_since("2.14"):
        layout = [*small.stride(), *small.shape, *large.stride(), *large.shape]
        return [packed(f"{len(layout)}Q{len(scales)}f?", *layout, *scales, align_corners)]
    longs = [
        packed("4q", *padded(numbers, 4)) for numbers in (small.stride(), large.stride(), small.shape, large.shape)
    ]
    return [*longs, packed("2f", *padded(scales, 2)), packed("?", align_corners)]


def interpolate(x, size, name, align_corners):
    mode = MODES[name]
    align = None if mode.startswith("nearest") else align_corners
    return torch.nn.functional.interpolate(x, size, mode=mode, align_corners=align, antialias=name.endswith("_aa"))


def bytes_interpolated(x, size, align_corners):
    """Bytes are mixed in fixed point, and rounded after each dimension, the last one first."""
    x = x.long()
    for dim, after in zip(range(x.dim() - 1, 1, -1), reversed(size), strict=True):
        before = x.size(dim)
        step = torch.tensor(scale(before, after, align_corners), dtype=torch.float32)
        at = torch.arange(after, dtype=torch.float32)
        at = step * at if align_corners else (step * (at + 0.5) - 0.5).clamp(min=0)
        low, share = at.long(), at - at.floor()
        shape = [-1 if d == dim else 1 for d in range(x.dim())]
        right, left = ((value * 32768 + 0.5).long().view(shape) for value in (share, 1 - share))
        last = torch.tensor(before - 1)
        x0, x1 = x.index_select(dim, low.minimum(last)), x.index_select(dim, (low + 1).minimum(last))
        x = (16384 + x0 * left + x1 * right) >> 15
    return x.to(torch.uint8)


def cases(name):
    for shape, size in SHAPES[1 if name.endswith("1d") else 3 if name.endswith(("3d", "trilinear")) else 2]:
        for align_corners in (False, True):
            if align_corners and (name.endswith("_aa") or name.startswith("nearest")):
                continue
            yield shape, size, align_corners, f"{shape} to {size}" + (", corners aligned" if align_corners else "")


@checks(rf"upsample_(?P<what>{'|'.join(MODES)})_(?P<type>float|half|bfloat|int|long|short|char|uchar|bool)")
def forward(kernel, match):
    dtype, name = DTYPES[match["type"]], match["what"]
    for shape, size, align_corners, what in cases(name):
        exact = MODES[name].startswith("nearest")
        count = torch.Size(shape).numel()
        x = (hard(dtype, count) if exact else ordinary(dtype, count)).view(shape)
        if not exact and not align_corners and dtype.is_floating_point:
            x = with_specials(x)
        out = torch.empty(*shape[:2], *size, dtype=dtype, device="mps")
        kernel(mps(x), out, *arguments(x, out, align_corners), threads=torch.Size(size).numel())
        if exact:
            # Places alone: torch on the CPU moves floats.
            places = torch.arange(count, dtype=torch.float64).view(shape)
            chosen = interpolate(places, size, name, align_corners).long()
            yield Check(what, out, x.flatten()[chosen])
        elif dtype == torch.uint8:
            yield Check(what, out, bytes_interpolated(x, size, align_corners))
        else:
            expected = interpolate(x.double(), size, name, align_corners)
            # Places are float32 numbers up to 10, so that shares are right to 2^-21; values are up to 12.
            yield Check(what, out, expected.to(dtype), rtol=2 * rounding(dtype), atol=2e-5)


def grid(match, small, large):
    """A thread scatters what comes from a place; or it gathers what goes to one, of some of the planes."""
    return (
        torch.Size(large).numel() if match["index"] is None else (small[3], small[2], max(1, small[0] * small[1] - 1))
    )


@checks(rf"upsample_(?P<what>{'|'.join(MODES)})_backward_(?P<type>float|half|bfloat)(?:_(?P<index>u32|u64))?")
def backward(kernel, match):
    dtype, name = DTYPES[match["type"]], match["what"]
    for shape, size, align_corners, what in cases(name):
        grad = torch.randn(*shape[:2], *size).to(dtype)
        small = torch.zeros(shape, dtype=dtype, device="mps")
        launch = arguments(small, grad, align_corners)
        kernel(small, mps(grad), *launch, threads=grid(match, shape, size))
        x = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        interpolate(x, size, name, align_corners).backward(grad.double())
        # Each of the terms that reach an element is rounded to the type, and so is each sum.
        terms = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        interpolate(terms, size, name, align_corners).backward(grad.double().abs())
        atol = float(terms.grad.abs().max()) * (rounding(dtype) * 8 + 2e-6)
        yield Check(what, small, x.grad.to(dtype), rtol=2 * rounding(dtype), atol=atol)
