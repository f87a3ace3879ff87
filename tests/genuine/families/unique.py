"""unique of a sorted tensor (Unique.metal, from 2.14 on), by boundaries and a scan of them."""

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import blank

TYPE = r"(?P<type>float|half|bfloat|int|long|short|char|uchar|bool)"
SCANS = {"32": torch.int32, "64": torch.int64}
COUNT = 300


def sorted_values(dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.arange(COUNT) >= 100
    x = torch.randint(0, 60, (COUNT,)).to(dtype).sort().values
    if dtype.is_floating_point:  # each NaN is a value of its own
        x[0], x[-3:] = float("-inf"), float("nan")
    return x


def boundaries(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([torch.ones(1, dtype=torch.bool), x[1:] != x[:-1]])


@checks(rf"unique_mark_boundaries_{TYPE}", since="2.14")
def mark(kernel, match):
    x = sorted_values(DTYPES[match["type"]])
    out = blank(torch.int32, COUNT)
    kernel(x.to("mps"), out, threads=COUNT)
    yield Check("mask", out, boundaries(x).int())


@checks(rf"unique_emit_{TYPE}_(?P<scan>32|64)", since="2.14")
def emit(kernel, match):
    x = sorted_values(DTYPES[match["type"]])
    mask = boundaries(x)
    count = int(mask.sum())
    values, places = blank(x.dtype, count), blank(torch.int64, count)
    scan = mask.cumsum(0).to(SCANS[match["scan"]])
    kernel(x.to("mps"), mask.int().to("mps"), scan.to("mps"), values, places, threads=COUNT)
    yield Check("values", values, x[mask])
    yield Check("places", places, mask.nonzero().flatten())


@checks("unique_counts", since="2.14")
def counts(kernel, match):
    places = torch.randperm(COUNT)[:50].sort().values
    out = blank(torch.int64, 50)
    kernel(places.to("mps"), out, 50, COUNT, threads=50)
    yield Check("counts", out, torch.cat([places[1:], torch.tensor([COUNT])]) - places)


@checks(r"unique_inverse_(?P<scan>32|64)", since="2.14")
def inverse(kernel, match):
    order = torch.randperm(COUNT)
    scan = torch.randint(0, 2, (COUNT,)).cumsum(0) + 1
    out = blank(torch.int64, COUNT)
    kernel(order.to("mps"), scan.to(SCANS[match["scan"]]).to("mps"), out, threads=COUNT)
    yield Check("inverse", out, torch.empty(COUNT, dtype=torch.int64).scatter(0, order, scan - 1))
