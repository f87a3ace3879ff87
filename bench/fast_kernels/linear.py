"""Matrices and vectors."""

from __future__ import annotations

import torch

from .case import Case, Step, whole


def matmul() -> Case:
    size, tile, side = 256, 64, 16
    data = {"a": torch.randn(size, size), "b": torch.randn(size, size), "out": torch.empty(size, size), "size": size}
    step = Step("matmul", "a b out size", (size // tile * side,) * 2, (side, side))
    return Case("tiled matmul", "matmul", data, "out", (step,), "a b out size", 1e-4)


def attention() -> Case:
    heads, keys, width = 8, 1024, 64
    data = {"q": torch.randn(heads, width), "k": torch.randn(heads, keys, width), "v": torch.randn(heads, keys, width)}
    data |= {"out": torch.empty(heads, width), "heads": heads, "keys": keys, "scale": width**-0.5}
    step = Step("attention", "q k v out keys scale", **whole(heads * 256, 256))
    return Case("attention row", "attention", data, "out", (step,), "q k v out heads keys scale", 1e-5)


def quantised_matvec() -> Case:
    rows, blocks = 1024, 64
    weights = torch.randint(256, (rows, blocks, 16), dtype=torch.uint8)
    data = {"weights": weights, "scales": torch.rand(rows, blocks) * 0.1, "x": torch.randn(blocks * 32)}
    data |= {"out": torch.empty(rows), "rows": rows, "blocks": blocks}
    step = Step("quantised_matvec", "weights scales x out blocks", **whole(rows * 32, 128))
    return Case("4-bit matvec", "quantised_matvec", data, "out", (step,), "weights scales x out rows blocks", 1e-4)


def spmv() -> Case:
    rows = 1 << 14
    lengths = torch.randint(8, 57, (rows,))
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).to(torch.int32)
    total = int(starts[-1])
    data = {"starts": starts, "columns": torch.randint(rows, (total,), dtype=torch.int32), "values": torch.randn(total)}
    data |= {"x": torch.randn(rows), "out": torch.empty(rows), "rows": rows}
    step = Step("spmv", "starts columns values x out", **whole(rows * 32, 256))
    return Case("SpMV", "spmv", data, "out", (step,), "starts columns values x out rows", 1e-4)


CASES = (matmul, attention, quantised_matvec, spmv)
