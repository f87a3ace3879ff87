"""Bucketization.metal and HistogramKernel.metal: which bin a value falls into."""

import command
import torch
from harness import Check, checks, is_since
from inputs import DTYPES, ordinary
from launch import blank
from packing import packed

TYPE = r"(?P<type>float|half|bfloat|int|long|short|char|uchar)"


@checks(rf"searchsorted_{TYPE}_(?P<result>int|long)(?P<sorter>_sorter)?")
def searchsorted(kernel, match):
    dtype, result = DTYPES[match["type"]], DTYPES[match["result"]]
    for rows in (1, 4):
        for right in (False, True):
            bounds, x = ordinary(dtype, rows, 33), ordinary(dtype, rows, 300)
            x[:, :33] = bounds  # there are equals
            if dtype.is_floating_point:
                x[0, 40:44] = torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0]).to(dtype)
            wide = torch.float64 if dtype.is_floating_point else torch.int64
            inorder, sorter = bounds.to(wide).sort(dim=1)
            expected = torch.searchsorted(inorder, x.to(wide), right=right)
            given = bounds if match["sorter"] else inorder.to(dtype)
            more = [sorter.to("mps")] if match["sorter"] else []
            out = blank(result, rows, 300)
            kernel(
                *(x.to("mps"), given.to("mps"), out, 300, 33, x.numel(), int(right), int(rows == 1), *more),
                threads=(256, 1, 1),  # each walks over several
                group_size=(128, 1, 1),
            )
            yield Check(f"{rows} rows, right {right}", out, expected.to(result))


@checks("kernel_index_offset")
def index_offset(kernel, match):
    shape, stride = (5, 7, 4), (3, 60, 15)
    out = blank(torch.int32, 140)
    kernel(packed("3I", *stride), out, packed("3I", *shape), packed("I", 3), threads=140)
    expected = torch.arange(1000).as_strided(shape, stride).flatten()
    yield Check("offsets", out, expected.int())


INTERPOLATE, INTERPOLATE_AND_SEARCH, SEARCH = range(3)


@checks(rf"histogramdd_(?P<atomic>atomic_)?{TYPE}")
def histogramdd(kernel, match):
    dtype, count, bins = DTYPES[match["type"]], 200, (16, 4)
    # Edges and values that all types hold exactly, some of them outside; the right edge belongs to the last bin.
    low = 0 if dtype == torch.uint8 else -8
    edges = torch.cat([torch.arange(17) + low, torch.arange(5) * 4 + low]).to(dtype)
    values = torch.randint(4 * low - (0 if low == 0 else 8), 4 * (low + 18), (count, 2)) / 4
    values = values.floor() if not dtype.is_floating_point else values
    values[0] = low + 16
    x = values.to(dtype)
    weights = torch.randint(1, 5, (2 * count,)).to(dtype)
    for algorithm in (INTERPOLATE, INTERPOLATE_AND_SEARCH, SEARCH):
        for weighted in (False, True):
            out = torch.zeros(count, *bins, dtype=dtype, device="mps")
            if is_since("2.15"):
                yield from by_strides(kernel, match, x, weights, edges, values - low, algorithm, weighted)
                continue
            ends = [torch.full((2,), end).to(dtype).to("mps") for end in (low, low + 16)]
            kernel(
                *(x.t().contiguous().to("mps"), weights.to("mps"), out),
                *(torch.arange(2 * count).view(2, count).t().int().contiguous().to("mps"), 2, edges.to("mps")),
                *([17, 5], *ends, list(out.stride()), packed("B", algorithm), 2 if weighted else -1),
                threads=count,
            )
            expected = torch.zeros(count, *bins, dtype=dtype)
            for i, (a, b) in enumerate((values - low).tolist()):
                if 0 <= a <= 16 and 0 <= b <= 16:
                    expected[i, min(int(a), 15), min(int(b / 4), 3)] = weights[2 * i] if weighted else 1
            yield Check(f"algorithm {algorithm} weighted {weighted}", out, expected)


HISTC = r"(?P<type>float|half|bfloat|int|long|short|char|uchar)"


@checks(rf"histc_atomic_(?P<where>global|threadgroup)_{HISTC}", since="2.15")
def histc(kernel, match):
    """Edges of bins, of which the last belongs to its bin; what is outside counts nowhere."""
    dtype, count, bins = DTYPES[match["type"]], 300, 16
    low = 0 if dtype == torch.uint8 else -8
    edges = (torch.arange(bins + 1) + low).to(dtype)
    values = torch.randint(low - (0 if low == 0 else 3), low + 20, (count,))
    values[0] = low + bins
    x = values.to(dtype)
    spread = torch.zeros(2 * count, dtype=dtype)
    spread[::2] = x
    places = (values - low).clamp(max=bins - 1)
    inside = (values >= low) & (values <= low + bins)
    expected = torch.bincount(places[inside], minlength=bins).int()
    out = torch.zeros(bins, dtype=torch.int32)
    layout = (torch.tensor([2]), torch.tensor([count], dtype=torch.int32), torch.tensor([bins]), edges)
    if match["where"] == "global":
        out = out.to("mps")
        kernel(spread.to("mps"), out, 2, packed("I", count), bins, edges.to("mps"), threads=count)
    else:
        threads = torch.tensor([128], dtype=torch.int32)
        buffers = [spread, out, *layout, threads]
        (out,) = command.run(match.string, buffers, (128, 1, 1), (64, 1, 1), [4 * bins], [1])
    yield Check("counts", out, expected)


def by_strides(kernel, match, x, weights, edges, places, algorithm, weighted):
    """From 2.15 on the input has strides; without weights all threads may count in one histogram."""
    bins = (16, 4)
    if match["atomic"]:
        if weighted:
            return
        shape, out = bins, torch.zeros(bins, dtype=torch.int32, device="mps")
    else:
        shape, out = (len(x), *bins), torch.zeros(len(x), *bins, dtype=x.dtype, device="mps")
    source = x.t().contiguous().to("mps")
    strides = [1, len(x)]
    weight = [] if match["atomic"] else [weights.to("mps")]
    more = [] if match["atomic"] else [2 if weighted else -1]
    kernel(
        *(source, *weight, out, strides, 2, edges.to("mps"), [17, 5], list(out.stride()), packed("B", algorithm)),
        *more,
        threads=len(x),
    )
    expected = torch.zeros(len(x), *bins, dtype=x.dtype)
    for i, (a, b) in enumerate(places.tolist()):
        if 0 <= a <= 16 and 0 <= b <= 16:
            expected[i, min(int(a), 15), min(int(b / 4), 3)] = weights[2 * i] if weighted else 1
    expected = expected.double().sum(0).int() if match["atomic"] else expected
    yield Check(f"algorithm {algorithm} weighted {weighted}", out.view(shape), expected)
