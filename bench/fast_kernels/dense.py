"""Work on each element, or on it and its neighbours."""

from __future__ import annotations

import torch

from .case import Case, Step, whole


def copy() -> Case:
    count = 1 << 22  # 16 MiB: beyond the caches of one core
    data = {"x": torch.randn(count), "out": torch.empty(count), "count": count}
    step = Step("copy", "x out", **whole(count // 4, 256))
    return Case("copy", "copy", data, "out", (step,), "x out count", moved=8 * count)


def saxpy() -> Case:
    count = 1 << 20
    data = {"x": torch.randn(count), "y": torch.randn(count), "out": torch.empty(count), "a": 1.5, "count": count}
    step = Step("saxpy", "x y out a", **whole(count, 256))
    return Case("saxpy", "saxpy", data, "out", (step,), "x y out a count", 1e-6)


def strided() -> Case:
    count, stride = 1 << 19, 3
    data = {"x": torch.randn(count * stride), "out": torch.empty(count), "stride": stride, "bias": 0.5, "count": count}
    step = Step("strided", "x out stride bias", **whole(count, 256))
    return Case("strided", "strided", data, "out", (step,), "x out stride bias count", 1e-6)


def transpose() -> Case:
    width, height, tile, rows = 1024, 512, 32, 8
    data = {"x": torch.randn(height, width), "out": torch.empty(width, height), "width": width, "height": height}
    step = Step("transpose", "x out width height", (width, height // tile * rows), (tile, rows))
    return Case("transposed", "transpose", data, "out", (step,), "x out width height")


def stencil() -> Case:
    width, height = 1024, 512
    data = {"x": torch.rand(height, width), "out": torch.empty(height, width), "rate": 0.2}
    data |= {"width": width, "height": height}
    step = Step("stencil", "x out rate", (width, height), (32, 8))
    return Case("stencil", "stencil", data, "out", (step,), "x out rate width height", 1e-6)


CASES = (saxpy, strided, transpose, stencil)
