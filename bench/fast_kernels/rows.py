"""Work that sums over many elements: norms, sums, sums on the way."""

from __future__ import annotations

import torch

from .case import Case, Step, whole

ROWS, COLUMNS = 256, 1024


def _rows(**more) -> dict:
    shape = {"rows": ROWS, "columns": COLUMNS, "epsilon": 1e-5}
    return {"x": torch.randn(ROWS, COLUMNS), "out": torch.empty(ROWS, COLUMNS)} | shape | more


def softmax() -> Case:
    step = Step("softmax", "x out columns", **whole(ROWS * 256, 256))
    return Case("softmax", "softmax", _rows(), "out", (step,), "x out rows columns", 1e-6)


def layer_norm() -> Case:
    data = _rows(weight=torch.randn(COLUMNS), bias=torch.randn(COLUMNS))
    step = Step("layer_norm", "x weight bias out epsilon", **whole(ROWS * COLUMNS // 4, COLUMNS // 4))
    return Case("layer norm", "layer_norm", data, "out", (step,), "x weight bias out epsilon rows columns", 1e-5)


def rms_norm() -> Case:
    step = Step("rms_norm", "x weight out columns epsilon", **whole(ROWS * 32, 128))
    data = _rows(weight=torch.randn(COLUMNS))
    return Case("RMS norm", "rms_norm", data, "out", (step,), "x weight out epsilon rows columns", 1e-5)


def prefix_sum() -> Case:
    count, block = 1 << 20, 1024
    x = torch.randint(1000, (count,), dtype=torch.int32)
    data = {"x": x, "out": torch.empty_like(x), "totals": torch.empty(count // block, dtype=torch.int32)}
    steps = (
        Step("scan_blocks", "x out totals", **whole(count // 4, block // 4)),
        Step("scan_totals", "totals", **whole(count // block, count // block)),
        Step("add_totals", "out totals", **whole(count // 4, block // 4)),
    )
    return Case("prefix sum", "prefix_sum", data | {"count": count}, "out", steps, "x out count")


def reduction() -> Case:
    count, groups, group = 1 << 21, 64, 256
    data = {"x": torch.rand(count), "sums": torch.empty(groups), "out": torch.empty(1)}
    data |= {"count": count, "quads": count // 4, "few": groups // 4}
    steps = (
        Step("reduction", "x sums quads", **whole(groups * group, group)),
        Step("reduction", "sums out few", **whole(group, group)),
    )
    return Case("reduction", "reduction", data, "out", steps, "x out count", 1e-4)


CASES = (softmax, layer_norm, rms_norm, prefix_sum, reduction)
