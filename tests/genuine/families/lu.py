"""The kernels that LU, Cholesky, QR and triangular solves are made of from 2.14 on.

Matrices lie row by row, a batch of them after each other. Each kernel does one step on a window of its matrix.
"""

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import ceil_div, round_up
from packing import by_groups, mps, packed, padded, words

BATCH = 2
SIMD = 32
STREAM_GROUP = 256
PANEL = 32
TYPE = r"(?:_(?P<type>float|float2))?"
NONE = torch.zeros(8, device="mps")


def dtype_of(match) -> torch.dtype:
    return DTYPES[match["type"] or "float"]


def exact(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.to(torch.complex128 if matrix.is_complex() else torch.float64)


def random(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=dtype)


def close(what: str, got: torch.Tensor, expected: torch.Tensor, bound: float = 2e-5) -> Check:
    got = got.cpu()
    if got.is_complex():
        got, expected = torch.view_as_real(got), torch.view_as_real(expected.to(torch.complex64))
    return Check(what, got, expected.to(got.dtype), rtol=bound, atol=bound)


def magnitude(column: torch.Tensor) -> torch.Tensor:
    """By which the pivot is chosen: of complex numbers LAPACK's."""
    return column.real.abs() + column.imag.abs() if column.is_complex() else column.abs()


def eliminate(panel: torch.Tensor, width: int) -> list[int]:
    """LU with partial pivoting of the first columns of the panel, in place; the rows that were swapped in."""
    swaps = []
    for j in range(width):
        pivot = j + int(magnitude(panel[j:, j]).argmax())
        panel[[j, pivot]] = panel[[pivot, j]]
        panel[j + 1 :, j] /= panel[j, j]
        panel[j + 1 :, j + 1 :] -= panel[j + 1 :, j, None] * panel[None, j, j + 1 :]
        swaps.append(pivot)
    return swaps


@checks(rf"factorPanelLU{TYPE}_(?P<rows>\d+)_(?P<width>\d+)", since="2.14")
def factor_panel(kernel, match):
    dtype, rows, width = dtype_of(match), int(match["rows"]), int(match["width"])
    for m, n, first in ((70, 50, 0), (45, 40, 8), (20, 12, 8)):
        matrix = random(dtype, BATCH, m, n)
        count = min(m, n)
        pivots = torch.full((BATCH, count), -7, dtype=torch.int32)
        info = torch.full((BATCH,), 0 if first else 9, dtype=torch.int32)
        out, out_pivots, out_info = mps(matrix), mps(pivots), mps(info)
        group = round_up(ceil_div(m - first, rows), SIMD)
        arguments = (out, out_pivots, out_info, words(m, n), words(first, 0, 0, 0))
        by_groups(kernel, *arguments, grid=(BATCH, 1, 1), group=(group, 1, 1))
        expected = exact(matrix)
        done = min(width, count - first)
        for b in range(BATCH):
            swaps = eliminate(expected[b, first:, first : first + done], done)
            pivots[b, first : first + done] = torch.tensor(swaps, dtype=torch.int32) + first + 1
        yield Check(f"pivots of {m}x{n} from {first}", out_pivots, pivots)
        yield close(f"factors of {m}x{n} from {first}", out, expected)
        yield Check("info", out_info, torch.zeros(BATCH, dtype=torch.int32))


def scratch(dtype: torch.dtype, values: torch.Tensor, places: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Of each matrix the largest of a column's parts, where they are, and the pivot's row."""
    count = values.size(1)
    whole = torch.zeros(BATCH, 2 * STREAM_GROUP + PANEL * dtype.itemsize // 4)
    whole[:, :count] = values
    whole[:, STREAM_GROUP : STREAM_GROUP + count] = places.int().view(torch.float32)
    flat = torch.view_as_real(row).flatten(1) if row.is_complex() else row
    whole[:, 2 * STREAM_GROUP : 2 * STREAM_GROUP + flat.size(1)] = flat
    return whole


@checks(rf"luStreamUpdate{TYPE}", since="2.14")
def stream_update(kernel, match):
    dtype = dtype_of(match)
    m, n, first, column, rows = 90, 45, 4, 3, 2
    for search_only in (True, False):
        matrix, row = random(dtype, BATCH, m, n), random(dtype, BATCH, PANEL)
        out, memory = mps(matrix), mps(scratch(dtype, torch.zeros(BATCH, 1), torch.zeros(BATCH, 1), row))
        begin = column if search_only else column + 1
        groups = ceil_div(m - first - begin, STREAM_GROUP // SIMD * rows)
        by_groups(
            *(kernel, out, NONE, NONE, words(m, n), words(first, column, rows, int(search_only)), NONE, memory),
            grid=(groups, BATCH, 1),
            group=(STREAM_GROUP, 1, 1),
        )
        expected = exact(matrix)
        panel = expected[:, first:, first : first + PANEL]
        if not search_only:
            below = panel[:, column + 1 :]
            below[:, :, column] /= exact(row)[:, None, column]
            below[:, :, column + 1 :] -= below[:, :, column, None] * exact(row)[:, None, column + 1 :]
        searched = magnitude(panel[:, begin:, column if search_only else column + 1])
        parts = searched.split(STREAM_GROUP // SIMD * rows, 1)
        starts = begin + torch.arange(len(parts)) * parts[0].size(1)
        got = memory.cpu()
        yield close(f"matrix, {search_only}", out, expected)
        yield close("largest", got[:, :groups], torch.stack([part.amax(1) for part in parts], 1))
        where = torch.stack([part.argmax(1) for part in parts], 1) + starts
        yield Check("where", got[:, STREAM_GROUP : STREAM_GROUP + groups].contiguous().view(torch.int32), where.int())


@checks(rf"luStreamPivot{TYPE}", since="2.14")
def stream_pivot(kernel, match):
    dtype = dtype_of(match)
    m, n, first, column, parts = 90, 45, 4, 3, 5
    matrix = random(dtype, BATCH, m, n)
    values = torch.randn(BATCH, parts).abs()
    places = torch.randint(column, m - first, (BATCH, parts))
    places[1, values[1].argmax()] = column  # the pivot is there already
    memory = mps(scratch(dtype, values, places, torch.zeros(BATCH, PANEL, dtype=dtype)))
    out = mps(matrix)
    pivots = torch.full((BATCH, min(m, n)), -7, dtype=torch.int32)
    info, out_pivots = torch.zeros(BATCH, dtype=torch.int32, device="mps"), mps(pivots)
    by_groups(
        *(kernel, out, out_pivots, info, words(m, n), words(first, column, parts, 0), NONE, memory),
        grid=(BATCH, 1, 1),
        group=(STREAM_GROUP, 1, 1),
    )
    expected, rows = matrix.clone(), []
    for b in range(BATCH):
        pivot = int(places[b, values[b].argmax()])
        pivots[b, first + column] = first + pivot + 1
        panel = expected[b, first:, first : first + PANEL]
        panel[[column, pivot]] = panel[[pivot, column]]
        rows.append(panel[column].clone())
    yield Check("matrix", out, expected)
    yield Check("pivots", out_pivots, pivots)
    got = memory.cpu()[:, 2 * STREAM_GROUP :].contiguous().view(dtype)
    yield Check("pivot's row", got[:, :PANEL], torch.stack(rows))
    yield Check("info", info, torch.zeros(BATCH, dtype=torch.int32))


def random_swaps(count: int, first: int, rows: int) -> torch.Tensor:
    """1-based, of each row with one that comes later."""
    of_one = [torch.tensor([int(torch.randint(first + i, rows, ())) + 1 for i in range(count)]) for _ in range(BATCH)]
    return torch.stack(of_one).int()


@checks(rf"laswpGatherLU{TYPE}", since="2.14")
def swap_rows(kernel, match):
    dtype = dtype_of(match)
    for m, n, first, count in ((90, 100, 4, 32), (45, 130, 0, 7)):
        matrix = random(dtype, BATCH, m, n)
        pivots = torch.ones(BATCH, min(m, n), dtype=torch.int32)
        pivots[:, first : first + count] = random_swaps(count, first, m)
        left, right = (0, first), (first + count, n - 3)
        out = mps(matrix)
        width = left[1] - left[0] + right[1] - right[0]
        by_groups(
            *(kernel, out, mps(pivots), NONE, words(m, n), words(first, count, 0, 0), words(*left, *right)),
            grid=(ceil_div(width, 32 if dtype.is_complex else 64), BATCH, 1),
            group=(256, 1, 1),
        )
        expected = matrix.clone()
        for b in range(BATCH):
            for i in range(first, first + count):
                other = int(pivots[b, i]) - 1
                for begin, end in (left, right):
                    expected[b, [i, other], begin:end] = expected[b, [other, i], begin:end]
        yield Check(f"{m}x{n}", out, expected)


@checks(rf"luApplyPivotsRHS{TYPE}", since="2.14")
def swap_right_sides(kernel, match):
    dtype = dtype_of(match)
    n, k = 20, 35
    for inverse in (0, 1):
        matrix, pivots = random(dtype, BATCH, n, n + k), random_swaps(n, 0, n)
        out = mps(matrix)
        by_groups(
            *(kernel, out, mps(pivots), NONE, words(n, n + k), words(n, k, n, inverse)),
            grid=(BATCH, 1, 1),
            group=(k, 1, 1),
        )
        expected = matrix.clone()
        for b in range(BATCH):
            for i in reversed(range(n)) if inverse else range(n):
                other = int(pivots[b, i]) - 1
                expected[b, [i, other], n:] = expected[b, [other, i], n:]
        yield Check(f"inverse {inverse}", out, expected)


def well_conditioned(dtype: torch.dtype, rows: int, columns: int) -> torch.Tensor:
    """Elements below the diagonal are small, so that triangles of it are not near to singular."""
    matrix = random(dtype, BATCH, rows, columns)
    square = matrix[:, :, :rows]
    square.mul_(0.15).diagonal(dim1=1, dim2=2).add_(2)
    return matrix


def solved(matrix: torch.Tensor, first: int, count: int, begin: int, end: int, **how) -> torch.Tensor:
    expected = exact(matrix)
    triangle = expected[:, first : first + count, first : first + count]
    right = expected[:, first : first + count, begin:end]
    right[:] = torch.linalg.solve_triangular(triangle, right.clone(), **how)
    return expected


def launch_solve(kernel, matrix, first, count, begin, end) -> torch.Tensor:
    out = mps(matrix)
    m, n = matrix.shape[1:]
    by_groups(
        *(kernel, out, NONE, NONE, words(m, n), words(first, begin, end, count)),
        grid=(BATCH, ceil_div(end - begin, 128), 1),
        group=(128, 1, 1),
    )
    return out


@checks(rf"trsmPanelLU{TYPE}_(?P<size>\d+)", since="2.14")
def panel_solve(kernel, match):
    size = int(match["size"])
    for m, n, first, count in ((size + 8, 200, 8, size), (size + 3, 170, 3, size - 2)):
        matrix = well_conditioned(dtype_of(match), m, n)
        out = launch_solve(kernel, matrix, first, count, first + count, n)
        expected = solved(matrix, first, count, first + count, n, upper=False, unitriangular=True)
        yield close(f"{count} rows of {m}x{n}", out, expected)


@checks(rf"trsmDiagSolveLU{TYPE}_(?P<half>lower|upper)_(?P<unit>unit|nonunit)", since="2.14")
def diagonal_solve(kernel, match):
    for n, k, first, count in ((70, 140, 32, 32), (45, 5, 32, 13)):
        matrix = well_conditioned(dtype_of(match), n, n + k)
        out = launch_solve(kernel, matrix, first, count, n, n + k)
        how = {"upper": match["half"] == "upper", "unitriangular": match["unit"] == "unit"}
        yield close(f"{count} rows of {n}x{k}", out, solved(matrix, first, count, n, n + k, **how))


@checks(rf"(?P<how>gemmSimdLU|gemmTiledLU){TYPE}", since="2.14")
def update(kernel, match):
    """What is right of and below a panel, less a product."""
    tile, group = ((64, 32), (128, 1, 1)) if match["how"] == "gemmSimdLU" else ((16, 16), (16, 16, 1))
    for m, n, first, count in ((90, 150, 8, 32), (50, 45, 0, 7)):
        matrix = random(dtype_of(match), BATCH, m, n)
        out, begin = mps(matrix), first + count
        by_groups(
            *(kernel, out, NONE, NONE, words(m, n), words(begin, m, begin, n), words(first, count, 0, 0)),
            grid=(ceil_div(n - begin, tile[0]), ceil_div(m - begin, tile[1]), BATCH),
            group=group,
        )
        expected = exact(matrix)
        expected[:, begin:, begin:] -= expected[:, begin:, first:begin] @ expected[:, first:begin, begin:]
        yield close(f"{m}x{n}", out, expected, 1e-4)


@checks(rf"transposeInPlaceLU{TYPE}", since="2.14")
def transpose(kernel, match):
    for n in (70, 5):
        matrix = random(dtype_of(match), BATCH, n, n)
        out, tiles = mps(matrix), ceil_div(n, 32)
        by_groups(kernel, out, NONE, NONE, words(n, n), grid=(tiles, tiles, BATCH), group=(32, 8, 1))
        yield Check(f"order {n}", out, matrix.mT.contiguous())


@checks(r"luInvSmall_(?P<size>\d)", since="2.15")
def small_inverse(kernel, match):
    n, batch = int(match["size"]), 40
    matrix = torch.randn(batch, n, n) + 2 * torch.eye(n)
    matrix[1] = 0
    out = torch.zeros(batch, n, n, device="mps")
    info = torch.full((batch,), 9, dtype=torch.int32, device="mps")
    strides = packed("6q", n * n, n, 1, n * n, 1, n)
    kernel(mps(matrix), out, info, strides, threads=batch)
    rest = torch.arange(batch) != 1
    expected = torch.linalg.inv(matrix[rest].double()).mT
    yield Check("inverses", out.cpu()[rest], expected.float(), rtol=1e-4, atol=1e-4 * float(expected.abs().max()))
    yield Check("info", info, (~rest).int())


def geqrf_parameters(a: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
    """One dimension of batches: sizes and strides of the matrices, strides of the factors."""
    values = [*padded(a.shape), *padded(a.stride()), *padded(tau.stride())]
    return packed("i48I", 1, *values)


@checks(r"geqrf_float|geqrf_panel_(?P<rows>\d+)", since="2.14")
def geqrf(kernel, match):
    rows = int(match["rows"]) if match["rows"] else None
    for m, n in ((40, 25), (6, 9), (1, 1)) if rows is None else ((31 * rows, 20), (45, 32), (5, 3)):
        a = torch.randn(BATCH, m, n)
        out, tau = mps(a), torch.full((BATCH, min(m, n)), 9.0, device="mps")
        work = [torch.zeros(BATCH, m, device="mps")] if rows is None else []
        group = 1024 if rows is None else n * SIMD
        by_groups(*(kernel, out, tau, geqrf_parameters(a, tau), *work), grid=(BATCH, 1, 1), group=(group, 1, 1))
        expected, expected_tau = torch.geqrf(a.double())
        yield close(f"factors of {m}x{n}", out, expected, 1e-6 * max(m, 8))
        yield close(f"tau of {m}x{n}", tau, expected_tau, 1e-6 * max(m, 8))


@checks(rf"householder_block{TYPE}", since="2.15")
def householder_block(kernel, match):
    """The reflections of a panel as I - W V^H, a threadgroup for each column."""
    dtype = dtype_of(match)
    m, n = 45, 9
    wide = torch.complex128 if dtype.is_complex else torch.float64
    a, tau = torch.geqrf(torch.randn(BATCH, m, n, dtype=wide))
    a, tau = a.to(dtype), tau.to(dtype)
    v, w = (torch.zeros(BATCH, n, m, dtype=dtype, device="mps") for _ in range(2))
    by_groups(kernel, mps(a), mps(tau), v, w, geqrf_parameters(a, tau), grid=(BATCH * n, 1, 1), group=(64, 1, 1))
    vectors = exact(a).tril(-1)
    vectors.diagonal(dim1=1, dim2=2).fill_(1)
    yield close("V", v, vectors.mT)
    product = torch.eye(m, dtype=wide) - exact(w.cpu()).mT @ exact(v.cpu()).conj()
    reflections = torch.eye(m, dtype=wide).repeat(BATCH, 1, 1)
    for i in range(n):
        column = vectors[:, :, i : i + 1]
        reflections = reflections - exact(tau)[:, i, None, None] * (reflections @ column) @ column.mH
    yield Check("W", product.to(dtype), reflections.to(dtype), rtol=1e-4, atol=1e-5)


@checks(r"triangular_solve_small(?:_mpp)?(?P<general>_general)?_(?P<size>\d+)", since="2.15")
def small_solve(kernel, match):
    # Without "general" it is for whole eights of columns.
    n, k = int(match["size"]), 21 if match["general"] else 24
    every = [(u, t, unit, c) for u in (0, 1) for t in (0, 1) for unit in (0, 1) for c in (0, 1)]
    for upper, transposed, unit, by_columns in every if match["general"] else [(0, 0, 1, 0)]:
        a = well_conditioned(torch.float32, n, n)
        b = torch.randn(BATCH, n, k)
        stored = b.mT.contiguous() if by_columns else b
        out = torch.zeros_like(stored, device="mps")
        flags = (upper, transposed, 0, unit, by_columns, by_columns)
        by_groups(
            *(kernel, mps(a), mps(stored), out, packed("3I6?", BATCH, n, k, *map(bool, flags))),
            grid=(BATCH, 1, 1),
            group=(n // 8 * SIMD, 1, 1),
        )
        matrix = exact(a).mT if transposed else exact(a)
        is_upper = bool(upper) != bool(transposed)
        expected = torch.linalg.solve_triangular(matrix, exact(b), upper=is_upper, unitriangular=bool(unit))
        yield close(f"{flags}", out, expected.mT if by_columns else expected, 1e-4)


class Cholesky:
    """A batch of Hermitian positive matrices, as the kernels see it: U takes it as it lies, L transposed."""

    def __init__(self, upper: bool, dtype: torch.dtype, order: int):
        half = random(dtype, BATCH, order, order)
        self.upper, self.order = upper, order
        self.matrix = half @ half.mH / order + torch.eye(order) * 2

    def view(self, matrix: torch.Tensor) -> torch.Tensor:
        return matrix if self.upper else matrix.mT

    def lower(self, matrix: torch.Tensor) -> torch.Tensor:
        """What the algorithm defines; above the diagonal the kernels leave what they like."""
        return self.view(matrix.cpu()).tril().contiguous()

    def check(self, what: str, out: torch.Tensor, expected: torch.Tensor) -> Check:
        return close(what, self.lower(out), self.lower(expected))


PANEL_OF_CHOLESKY = 96


@checks(r"factorDiagonalPanel(?P<half>[UL])", since="2.14")
def factor_diagonal_panel(kernel, match):
    for order, k in ((200, 0), (200, 1), (200, 2), (5, 0)):
        blocks = Cholesky(match["half"] == "U", torch.float32, order)
        out = mps(blocks.matrix)
        info = torch.full((BATCH,), 0 if k else 9, dtype=torch.int32, device="mps")
        sizes = (words(order), words(PANEL_OF_CHOLESKY), words(k))
        by_groups(kernel, out, info, *sizes, grid=(BATCH, 1, 1), group=(96, 1, 1))
        expected = exact(blocks.matrix)
        part = slice(k * PANEL_OF_CHOLESKY, (k + 1) * PANEL_OF_CHOLESKY)
        block = blocks.view(expected)[:, part, part]
        block[:] = torch.linalg.cholesky(block)
        yield blocks.check(f"panel {k} of {order}", out, expected)
        yield Check("info", info, torch.zeros(BATCH, dtype=torch.int32))


@checks(r"applyPanelTRSM(?P<half>[UL])", since="2.14")
def apply_panel(kernel, match):
    for order in (200, 131):
        blocks = Cholesky(match["half"] == "U", torch.float32, order)
        out, left = mps(blocks.matrix), order - PANEL_OF_CHOLESKY
        sizes = (words(order), words(PANEL_OF_CHOLESKY), words(0))
        by_groups(kernel, out, NONE, *sizes, grid=(BATCH, ceil_div(left, 32), 1), group=(128, 1, 1))
        expected = exact(blocks.matrix)
        view = blocks.view(expected)
        diagonal = view[:, :PANEL_OF_CHOLESKY, :PANEL_OF_CHOLESKY].tril()
        below = view[:, PANEL_OF_CHOLESKY:, :PANEL_OF_CHOLESKY]
        below[:] = torch.linalg.solve_triangular(diagonal.mH, below.clone(), upper=True, left=False)
        yield blocks.check(f"order {order}", out, expected)


BLOCK = 32


def launch_block(kernel, blocks: Cholesky, grid: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    out, info = mps(blocks.matrix), torch.zeros(BATCH, dtype=torch.int32, device="mps")
    sizes = (words(blocks.order), words(BLOCK), words(0))
    by_groups(kernel, out, info, *sizes, grid=(BATCH, *grid), group=(32, 8, 1))
    return out, info


@checks(r"(?P<step>factorDiagonalBlock|applyTRSM|applySYRK)(?P<half>[UL])_(?P<type>float2?)", since="2.14")
def cholesky_step(kernel, match):
    for order in (96, 70):
        blocks = Cholesky(match["half"] == "U", dtype_of(match), order)
        expected = exact(blocks.matrix)
        view, left = blocks.view(expected), ceil_div(order, BLOCK) - 1
        diagonal, below = view[:, :BLOCK, :BLOCK], view[:, BLOCK:, :BLOCK]
        if match["step"] == "factorDiagonalBlock":
            out, info = launch_block(kernel, blocks, (1, 1))
            diagonal[:] = torch.linalg.cholesky(diagonal)
        elif match["step"] == "applyTRSM":
            out, info = launch_block(kernel, blocks, (left, 1))
            below[:] = torch.linalg.solve_triangular(diagonal.tril().mH, below.clone(), upper=True, left=False)
        else:
            out, info = launch_block(kernel, blocks, (left * (left + 1) // 2, 1))
            view[:, BLOCK:, BLOCK:] -= below @ below.mH
        yield blocks.check(f"order {order}", out, expected)
        yield Check("info", info, torch.zeros(BATCH, dtype=torch.int32))
