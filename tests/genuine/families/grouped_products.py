"""Products of float8 with scales, of bytes, and of groups of rows (ScaledMM.metal, GroupedMM.metal, from 2.15 on)."""

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import ceil_div
from packing import by_groups, mps, packed, rounding

SIMD = 32
TYPE = r"(?P<type>float8_e4m3fn|float|half|bfloat)"
TILE = 32


def float8(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).to(torch.float8_e4m3fn)


def scaled_cases():
    """Scales for all, or for each row and column; biases of both types, or none."""
    for rowwise in (False, True):
        for bias in (None, torch.float16, torch.bfloat16):
            yield rowwise, bias


def scaled(kernel, match, rows: int, inner: int, columns: int, **how):
    dtype = DTYPES[match["type"]]
    for rowwise, bias_type in scaled_cases():
        a, b = float8(rows, inner), float8(columns, inner)
        scale_a, scale_b = torch.rand(rows) + 0.5, torch.rand(columns) + 0.5
        bias = torch.randn(columns).to(bias_type) if bias_type else torch.zeros(columns)
        out = torch.zeros(rows, columns * dtype.itemsize, dtype=torch.uint8, device="mps")
        strides = (inner, 1, 1, inner, columns, 1)
        flags = (rowwise, bias_type is not None, bias_type == torch.bfloat16)
        by_groups(
            *(kernel, mps(a.view(torch.uint8)), mps(b.view(torch.uint8)), out, mps(scale_a), mps(scale_b), mps(bias)),
            packed("3I6q3?", rows, columns, inner, *strides, *flags),
            **how,
        )
        wide_a, wide_b = a.double(), b.double().t()
        factors = scale_a.double()[:, None] * scale_b.double() if rowwise else float(scale_a[0]) * float(scale_b[0])
        expected = wide_a @ wide_b * factors + (bias.double() if bias_type else 0)
        bound = float((wide_a.abs() @ wide_b.abs()).max()) * 4
        got = out.cpu().view(dtype)
        if dtype == torch.float8_e4m3fn:  # three bits: what is near the middle of two may become either
            step = expected.abs().clamp(min=2.0**-6) * 2.0**-3
            error = (got.double() - expected.clamp(-448, 448)).abs() / step
            yield Check(f"{flags}", error.float().clamp(max=9), torch.full_like(error, 0.25).float(), atol=0.2501)
        else:
            terms = (inner + 2) * 2.0**-24 * bound
            yield Check(f"{flags}", got, expected.to(dtype), rtol=2 * rounding(dtype), atol=terms)


@checks(rf"scaled_mm_(?:mpp_)?{TYPE}", since="2.15")
def scaled_mm(kernel, match):
    for rows, inner, columns in ((45, 80, 70), (1, 16, 16)):
        grid = (ceil_div(columns, TILE), ceil_div(rows, TILE), 1)
        yield from scaled(kernel, match, rows, inner, columns, grid=grid, group=(128, 1, 1))


@checks(rf"scaled_mm_few_rows_(?P<rows>\d)_{TYPE}", since="2.15")
def scaled_mm_few_rows(kernel, match):
    for inner, columns in ((80, 68), (1600, 16)):
        grid = (ceil_div(columns, 4), 1, 1)
        yield from scaled(kernel, match, int(match["rows"]), inner, columns, grid=grid, group=(128, 1, 1))


@checks(r"int_mm_(?P<type>char|uchar)", since="2.15")
def int_mm(kernel, match):
    low, high = (-128, 128) if match["type"] == "char" else (0, 256)
    for rows, inner, columns in ((19, 40, 35), (1, 1, 1), (16, 16, 16)):
        a = torch.randint(low, high, (inner, rows)).to(DTYPES[match["type"]])
        b = torch.randint(-128, 128, (inner, columns)).to(torch.int8)
        out = torch.full((rows, columns), 9, dtype=torch.int32, device="mps")
        strides = [1, rows, columns, 1, columns, 1]
        grid = (ceil_div(columns, 16), ceil_div(rows, 16), 1)
        by_groups(
            kernel, mps(a), mps(b), out, strides, packed("3I", rows, inner, columns), grid=grid, group=(16, 16, 1)
        )
        yield Check(f"{rows}x{inner}x{columns}", out, (a.t().long() @ b.long()).int())


GROUPED = r"(?P<type>float|half|bfloat)"
INDEX = r"(?P<index>u32|u64)"
ENDS = torch.tensor([20, 20, 45, 90], dtype=torch.int32)  # one group is empty


def group_params(match, m, n, k, a, b, out, batch: int) -> torch.Tensor:
    word = "I" if match["index"] == "u32" else "Q"
    strides = (*a.stride()[-2:], *b.stride()[-2:], *out.stride()[-2:])
    return packed(f"4I7{word}", m, n, k, len(ENDS), *strides, batch)


def compared(what: str, out: torch.Tensor, expected: torch.Tensor, k: int) -> Check:
    atol = (k + 2) * 2.0**-24 * 4 * float(expected.abs().max()).__ceil__()
    return Check(what, out, expected.to(out.dtype), rtol=2 * rounding(out.dtype), atol=atol)


def grouped_rows(kernel, match, m: int, ends: torch.Tensor, by_columns: bool, grid, group):
    dtype, n, k = DTYPES[match["type"]], 70, 64
    a = torch.randn(m, k).to(dtype)
    b = torch.randn(len(ends), n, k).to(dtype).mT if by_columns else torch.randn(len(ends), k, n).to(dtype)
    out = torch.full((m, n), 9.0, dtype=dtype, device="mps")
    memory = b.mT if by_columns else b
    by_groups(
        *(kernel, mps(a), mps(memory), mps(ends), out, group_params(match, m, n, k, a, b, out, b.stride(0))),
        grid=grid,
        group=group,
    )
    expected = torch.full((m, n), 9.0, dtype=torch.float64)
    begin = 0
    for i, end in enumerate(ends.tolist()):
        expected[begin:end] = a[begin:end].double() @ b[i].double()
        begin = max(begin, end)
    yield compared(f"{m} rows, by columns {by_columns}", out, expected, k)


def simdgroups(rows: int) -> int:
    return 4 if rows >= 64 else 2


@checks(rf"grouped_mm_rows_{GROUPED}_bm(?P<tile>\d+)_{INDEX}", since="2.15")
def grouped_mm_rows(kernel, match):
    tile = int(match["tile"])
    for by_columns in (False, True):
        grid = (ceil_div(70, 64), ceil_div(90, tile) + len(ENDS), 1)
        yield from grouped_rows(kernel, match, 90, ENDS, by_columns, grid, (simdgroups(tile) * SIMD, 1, 1))


@checks(rf"grouped_mm_few_rows_{GROUPED}_{INDEX}", since="2.15")
def grouped_mm_few_rows(kernel, match):
    ends = torch.tensor([1, 1, 3, 4], dtype=torch.int32)
    yield from grouped_rows(kernel, match, 4, ends, True, (ceil_div(70, 16), 4, 1), (16 * SIMD, 1, 1))


@checks(rf"grouped_mm_k_{GROUPED}_bm(?P<tile>\d+)_{INDEX}", since="2.15")
def grouped_mm_inner(kernel, match):
    """The groups are parts of what is summed over."""
    dtype, tile = DTYPES[match["type"]], int(match["tile"])
    m, n, k = 45, 70, 90
    for turned in (False, True):
        a = torch.randn(k, m).to(dtype).t() if turned else torch.randn(m, k).to(dtype)
        b = torch.randn(k, n).to(dtype)
        out = torch.full((len(ENDS), m, n), 9.0, dtype=dtype, device="mps")
        by_groups(
            *(kernel, mps(a.t() if turned else a), mps(b), mps(ENDS), out),
            group_params(match, m, n, k, a, b, out, m * n),
            grid=(ceil_div(n, 64), ceil_div(m, tile), len(ENDS)),
            group=(simdgroups(tile) * SIMD, 1, 1),
        )
        begins = [0, *ENDS.tolist()[:-1]]
        parts = [a[:, i:j].double() @ b[i:j].double() for i, j in zip(begins, ENDS.tolist(), strict=True)]
        yield compared(f"turned {turned}", out, torch.stack(parts), k)
