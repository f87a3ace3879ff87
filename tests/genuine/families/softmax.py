"""softmax and log_softmax (SoftMax.metal, from 2.15 on): of rows, of strided tensors, and in chunks."""

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import blank, ceil_div
from packing import DIMS, by_groups, packed, padded, rounding

GROUP = 256
OF = r"(?P<log>log_)?softmax"
TYPE = r"(?P<type>float|half|bfloat)_(?P<index>u32|u64)"


def params(match, dim_size, rows, inner, chunk, chunks, x: torch.Tensor, dim: int) -> torch.Tensor:
    word = "I" if match["index"] == "u32" else "Q"
    sizes = [*padded(x.shape), *padded(x.stride())]
    return packed(f"5{word}II{2 * DIMS}{word}", dim_size, rows, inner, chunk, chunks, x.dim(), dim, *sizes)


def inputs(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Some rows are of one value, with infinities or with a NaN."""
    x = torch.randn(*shape).mul(4).to(dtype)
    flat = x.view(-1, shape[-1])
    flat[0] = 3
    flat[-1, shape[-1] // 2] = float("-inf")
    if len(flat) > 2:
        flat[1, 0] = float("nan")
    return x


def result(log, x: torch.Tensor, dim: int) -> torch.Tensor:
    return (torch.log_softmax if log else torch.softmax)(x.double(), dim)


def near(what: str, got: torch.Tensor, expected: torch.Tensor) -> Check:
    # exp and log are right to 4 ulp, of differences of numbers up to 20; the sums are of float.
    return Check(what, got, expected.to(got.dtype), rtol=1e-5 + 2 * rounding(got.dtype), atol=4e-6)


@checks(rf"{OF}_row_{TYPE}", since="2.15")
def rows(kernel, match):
    dtype = DTYPES[match["type"]]
    for count, size in ((20, 45), (3, 1), (5, 700)):
        x, out = inputs(dtype, count, size), blank(dtype, count, size)
        groups = ceil_div(count, GROUP // 32)
        layout = params(match, size, count, 1, 0, 0, x, 1)
        by_groups(kernel, x.to("mps"), out, layout, grid=(groups, 1, 1), group=(GROUP, 1, 1))
        yield near(f"{count} of {size}", out, result(match["log"], x, 1))


@checks(rf"{OF}_{TYPE}", since="2.15")
def strided(kernel, match):
    dtype = DTYPES[match["type"]]
    for width, height in ((32, 8), (4, 64)):
        # The middle dimension of one that has gaps; the result has none.
        memory = inputs(dtype, 3, 50, 45)
        x = memory[:, :41, :37]
        out = blank(dtype, *x.shape)
        by_groups(
            *(kernel, memory.to("mps"), out, params(match, 41, 3 * 37, 37, 0, 0, x, 1)),
            grid=(ceil_div(37, width), 3, 1),
            group=(width, height, 1),
        )
        yield near(f"by {width}x{height}", out, result(match["log"], x, 1))


CHUNK, CHUNKS = 300, 4


def partials_of(x: torch.Tensor) -> torch.Tensor:
    """Of each chunk along the last dimension its largest, and the sum of what exp makes of the differences from it."""
    parts = x.float().split(CHUNK, -1)
    largest = torch.stack([part.amax(-1) for part in parts], -1)
    sums = torch.stack([part.sub(part.amax(-1, True)).exp().sum(-1) for part in parts], -1)
    return torch.stack([largest, sums], -1)


def same_partials(what: str, got: torch.Tensor, expected: torch.Tensor):
    yield Check(f"largest, {what}", got.cpu()[..., 0], expected[..., 0])
    yield Check(f"sums, {what}", got.cpu()[..., 1], expected[..., 1], rtol=1e-5)


@checks(rf"softmax_partial_{TYPE}", since="2.15")
def partial(kernel, match):
    size = CHUNK * CHUNKS - 100
    x = inputs(DTYPES[match["type"]], 5, size)
    out = blank(torch.float32, 5, CHUNKS, 2)
    layout = params(match, size, 5, 1, CHUNK, CHUNKS, x, 1)
    by_groups(kernel, x.to("mps"), out, layout, grid=(CHUNKS, 5, 1), group=(GROUP, 1, 1))
    yield from same_partials("of rows", out, partials_of(x))


@checks(rf"{OF}_finalize_{TYPE}", since="2.15")
def finalize(kernel, match):
    size = CHUNK * CHUNKS - 100
    x = inputs(DTYPES[match["type"]], 5, size)
    out = blank(x.dtype, 5, size)
    layout = params(match, size, 5, 1, CHUNK, CHUNKS, x, 1)
    by_groups(*(kernel, x.to("mps"), out, partials_of(x).to("mps"), layout), grid=(CHUNKS, 5, 1), group=(GROUP, 1, 1))
    yield near("rows", out, result(match["log"], x, 1))


INNER, OUTER = 7, 2
WIDTH, HEIGHT = 4, 64


def columns(match) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Columns that end before the rows do: in memory, as they are, and how they are laid out."""
    size = CHUNK * CHUNKS - 100
    memory = inputs(DTYPES[match["type"]], OUTER, size, INNER + 2)
    x = memory[:, :, :INNER]
    return memory, x, params(match, size, OUTER * INNER, INNER, CHUNK, CHUNKS, x, 1)


def of_columns(x: torch.Tensor) -> torch.Tensor:
    return partials_of(x.transpose(1, 2).reshape(OUTER * INNER, -1))


@checks(rf"softmax_strided_partial_{TYPE}", since="2.15")
def strided_partial(kernel, match):
    memory, x, layout = columns(match)
    out = blank(torch.float32, OUTER * INNER, CHUNKS, 2)
    grid = (ceil_div(INNER, WIDTH), OUTER, CHUNKS)
    by_groups(kernel, memory.to("mps"), out, layout, grid=grid, group=(WIDTH, HEIGHT, 1))
    yield from same_partials("of columns", out, of_columns(x))


@checks(rf"{OF}_strided_finalize_{TYPE}", since="2.15")
def strided_finalize(kernel, match):
    memory, x, layout = columns(match)
    out = blank(x.dtype, *x.shape)
    grid = (ceil_div(INNER, WIDTH), OUTER, CHUNKS)
    partials = of_columns(x).to("mps")
    by_groups(kernel, memory.to("mps"), out, partials, layout, grid=grid, group=(WIDTH, HEIGHT, 1))
    yield near("columns", out, result(match["log"], x, 1))
