"""Products of a matrix with a vector (Gemv.h), from 2.14 on: along rows (nt) and along columns (t, t2d)."""

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import ceil_div
from packing import by_groups, mps, packed, rounding

SIMD = 32
ALPHA, BETA = 1.5, -0.75


def dims(n, k, matrix, step, x_step, bias_rows, bias_columns) -> torch.Tensor:
    return packed("7q", n, k, matrix, step, x_step, bias_rows, bias_columns)


def product(kernel, match, by_columns: bool, outputs_per_group: int, simdgroups: int):
    """y = A x, with the matrix stored by the side that its rows or columns are along."""
    dtype, epilogue = DTYPES[match["type"]], match["epilogue"]
    groups = match.groupdict()
    strided = groups.get("strided") is not None
    x_step = 1 if groups.get("x", "xs") == "xc" else 3
    for n, k in ((72, 200), (outputs_per_group * 2 + 8, 40), (8, 8), (8, 1000)):
        # A row that is no part of the matrix, and where it is strided every other element.
        step = 2 if strided else 1
        outer, inner = (k, n) if by_columns else (n, k)
        memory = torch.randn(outer, inner * step + 8).to(dtype)
        matrix = memory[:, : inner * step : step]
        a = matrix.t() if by_columns else matrix
        x = torch.randn(k * x_step).to(dtype)
        bias = torch.randn(2 * n).to(dtype)
        out = torch.full((n,), 9.0, dtype=dtype, device="mps")
        bias_steps = (0, 2) if by_columns else (2, 0)
        sizes = dims(n, k, memory.stride(0), step, x_step, *bias_steps)
        factors = packed("2f", ALPHA, BETA)
        by_groups(
            *(kernel, mps(memory), mps(x), out, sizes, mps(bias), factors),
            grid=(ceil_div(n, outputs_per_group), 1, 1),
            group=(simdgroups * SIMD, 1, 1),
        )
        expected = a.double() @ x[::x_step].double()
        bound = float((a.double().abs() @ x[::x_step].double().abs()).max())
        if epilogue == "ab":
            expected = ALPHA * expected + BETA * bias[::2].double()
        yield Check(f"{n} of {k}", out, expected.to(dtype), rtol=2 * rounding(dtype), atol=2 * k * 2.0**-24 * bound)


TYPE = r"(?P<type>float|half|bfloat)"
EPILOGUE = r"(?P<epilogue>ab|none)"


@checks(
    rf"gemv_nt_{TYPE}_(?P<simd>\d+)_(?P<vec>\d+)_{EPILOGUE}_(?P<x>xs|xc)(?P<strided>_strided)?(?:_i64)?", since="2.14"
)
def along_rows(kernel, match):
    simdgroups = int(match["simd"])
    yield from product(kernel, match, False, simdgroups, simdgroups)


@checks(rf"gemv_t_{TYPE}_(?P<simd>\d+)_(?P<vec>\d+)_{EPILOGUE}(?P<strided>_strided)?(?:_i64)?", since="2.14")
def along_columns(kernel, match):
    yield from product(kernel, match, True, SIMD * int(match["vec"]), int(match["simd"]))


@checks(rf"gemv_t2d_{TYPE}_(?P<simd>\d+)_(?P<kq>\d+)_{EPILOGUE}", since="2.14")
def along_columns_by_lanes(kernel, match):
    elements = 16 // DTYPES[match["type"]].itemsize
    yield from product(kernel, match, True, SIMD // int(match["kq"]) * elements, int(match["simd"]))
