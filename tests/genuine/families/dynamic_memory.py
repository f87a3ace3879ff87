"""Kernels with threadgroup memory of a size that the launch says: Jacobi's methods, a triangular solve, a histogram."""

import command
import torch
from harness import Check, checks, is_since
from inputs import DTYPES
from packing import packed

BATCH, SIMD = 2, 32
TYPE = r"(?P<type>float2?)"


def close(what: str, got: torch.Tensor, expected: torch.Tensor, bound: float = 1e-4) -> Check:
    if got.is_complex():
        got, expected = torch.view_as_real(got), torch.view_as_real(expected)
    return Check(what, got, expected.to(got.dtype), rtol=bound, atol=bound)


def group_for(columns: int, most: int) -> int:
    """A simdgroup for each pair of columns."""
    return min(max((columns + 1) // 2, 1), most) * SIMD


@checks(rf"svd_jacobi_{TYPE}", since="2.14")
def svd(kernel, match):
    dtype = DTYPES[match["type"]]
    for m, n, staged in ((40, 12, True), (9, 9, False), (7, 20, True)):
        a = torch.randn(BATCH, m, n, dtype=dtype)
        transposed = m < n
        rows, columns = max(m, n), min(m, n)
        u, vh = torch.zeros(BATCH, columns, m, dtype=dtype), torch.zeros(BATCH, n, columns, dtype=dtype)
        values, info = torch.zeros(BATCH, columns), torch.full((BATCH,), 9, dtype=torch.int32)
        work = torch.zeros(BATCH, columns, columns, dtype=dtype)
        strides = (m, m * columns, columns, columns * n)
        if is_since("2.15"):
            layout = packed("3If4I3?", rows, columns, 30, 1e-6, *strides, True, transposed, staged)
        else:
            layout = packed("4If6I", rows, columns, 30, 1, 1e-6, *strides, transposed, staged)
        group = group_for(columns, 32)
        given = (a.mH if transposed else a).contiguous()
        sizes = [rows * columns * dtype.itemsize, (columns * columns if staged else 1) * dtype.itemsize]
        u, values, vh, info = command.run(
            *(match.string, [given, u, values, vh, work, info, layout[: 36 if is_since("2.15") else 44]]),
            *((BATCH * group, 1, 1), (group, 1, 1), sizes, [1, 2, 3, 5]),
        )
        # Both lie column by column.
        left, right = u.mT, vh.mT
        what = f"{m}x{n}"
        yield close(
            f"values of {what}",
            values,
            torch.linalg.svdvals(a.to(torch.complex128 if dtype.is_complex else torch.float64)),
        )
        yield close(f"product of {what}", left * values[:, None] @ right, a)
        yield close(f"U of {what}", left.mH @ left, torch.eye(columns, dtype=dtype).expand(BATCH, -1, -1))
        yield close(f"V of {what}", right @ right.mH, torch.eye(columns, dtype=dtype).expand(BATCH, -1, -1))
        yield Check("info", info, torch.zeros(BATCH, dtype=torch.int32))


@checks(rf"eigh_jacobi_{TYPE}", since="2.14")
def eigh(kernel, match):
    dtype = DTYPES[match["type"]]
    for n, upper in ((20, True), (7, False), (1, True)):
        half = torch.randn(BATCH, n, n, dtype=dtype)
        matrix = half + half.mH
        # Column by column, and the other triangle is not read.
        unread = torch.ones(n, n).triu(1).bool()
        given = matrix.mT.masked_fill(unread if upper else unread.mT, 77).contiguous()
        values, info = torch.zeros(BATCH, n), torch.full((BATCH,), 9, dtype=torch.int32)
        if is_since("2.15"):
            layout = packed("2If2?", n, 80, 1e-6, True, upper)
        else:
            layout = packed("4If", n, 80, 1, upper, 1e-6)
        group = group_for(n, 16)
        bytes_of_one = n * n * dtype.itemsize
        values, vectors, info = command.run(
            *(match.string, [given, values, torch.zeros_like(given), info, layout[: 16 if is_since("2.15") else 20]]),
            *((BATCH * group, 1, 1), (group, 1, 1), [bytes_of_one, bytes_of_one], [1, 2, 3]),
        )
        vectors = vectors.mT
        wide = matrix.to(torch.complex128 if dtype.is_complex else torch.float64)
        yield close(f"values of {n}", values, torch.linalg.eigvalsh(wide))
        yield close(f"product of {n}", vectors * values[:, None] @ vectors.mH, matrix)
        yield close(f"vectors of {n}", vectors.mH @ vectors, torch.eye(n, dtype=dtype).expand(BATCH, -1, -1))
        yield Check("info", info, torch.zeros(BATCH, dtype=torch.int32))


@checks(rf"triangular_solve_{TYPE}", since="2.15")
def triangular_solve(kernel, match):
    """A threadgroup for each column of the right side, which keeps the column and a sum for each simdgroup."""
    dtype = DTYPES[match["type"]]
    n, k, group = 45, 5, 64
    for upper, transposed, conjugated, unit, by_columns in (
        (0, 0, 0, 0, 0),
        (1, 0, 0, 1, 1),
        (0, 1, 1, 0, 1),
        (1, 1, 0, 0, 0),
    ):
        a = torch.randn(BATCH, n, n, dtype=dtype) * 0.1 + 2 * torch.eye(n)
        b = torch.randn(BATCH, n, k, dtype=dtype)
        stored = b.mT.contiguous() if by_columns else b
        flags = map(bool, (upper, transposed, conjugated, unit, by_columns, by_columns))
        layout = packed("3I6?", BATCH, n, k, *flags)[:20]
        (x,) = command.run(
            *(match.string, [a, stored, torch.zeros_like(stored), layout]),
            *((BATCH * k * group, 1, 1), (group, 1, 1), [n * dtype.itemsize, group // SIMD * dtype.itemsize], [2]),
        )
        matrix = a.to(torch.complex128 if dtype.is_complex else torch.float64)
        matrix = matrix.mT if transposed else matrix
        matrix = matrix.conj() if conjugated else matrix
        is_upper = bool(upper) != bool(transposed)
        expected = torch.linalg.solve_triangular(matrix, b.to(matrix.dtype), upper=is_upper, unitriangular=bool(unit))
        yield close(f"{upper}{transposed}{conjugated}{unit}", x.mT if by_columns else x, expected)
