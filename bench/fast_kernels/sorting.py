"""Keys: counted, sorted."""

from __future__ import annotations

import torch

from .case import Case, Step, whole


def _keys(count: int) -> torch.Tensor:
    return torch.randint(1 << 31, (count,), dtype=torch.int64).to(torch.int32)


def histogram() -> Case:
    count, each = 1 << 21, 64
    data = {"x": torch.randint(256, (count,), dtype=torch.uint8), "bins": torch.empty(256, dtype=torch.int32)}
    steps = (Step("clear", "bins", **whole(256, 256)), Step("histogram", "x bins", **whole(count // each, 256)))
    return Case("histogram", "histogram", data | {"count": count}, "bins", steps, "x bins count")


def radix_sort() -> Case:
    count, each, group, digits = 1 << 19, 8, 256, 16
    blocks = count // (each * group)
    keys = _keys(count)
    data = {"keys": keys, "out": torch.empty_like(keys), "counts": torch.empty(digits * blocks, dtype=torch.int32)}
    data |= {"shift": 8, "blocks": blocks, "each": digits * blocks // group, "count": count}
    steps = (
        Step("count_digits", "keys counts shift blocks", **whole(blocks * group, group)),
        Step("scan_counts", "counts each", **whole(group, group)),
        Step("scatter", "keys out counts shift blocks", **whole(blocks * group, group)),
    )
    return Case("radix sort pass", "radix_sort", data, "out", steps, "keys out shift count")


def bitonic_sort() -> Case:
    groups, keys = 64, 1024
    x = _keys(groups * keys)
    data = {"x": x, "out": torch.empty_like(x), "groups": groups}
    step = Step("bitonic_sort", "x out", **whole(groups * keys // 2, keys // 2))
    return Case("bitonic sort", "bitonic_sort", data, "out", (step,), "x out groups")


CASES = (histogram, radix_sort, bitonic_sort)
