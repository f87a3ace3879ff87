"""Products of matrices, and the pieces of Cholesky, QR and LU."""

import math

import torch
from harness import Check, checks
from inputs import DTYPES, ordinary
from launch import widest
from packing import by_groups, mps, packed, padded, rounding, with_specials, words
from sums import close

TILE = 16
SCALES = {"float": (1.5, -0.75), "int": (3, -2), "complex": (1.5 - 0.5j, 0.25 + 2j)}
MAX_DIMS = 16


def longs(*values):
    return packed(f"{len(values)}q", *values)


def product_inputs(dtype, *shape):
    """Small enough that sums of products fit into half precision."""
    if dtype.is_complex or dtype.is_floating_point:
        return torch.randn(*shape, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)
    return ordinary(dtype, *shape)


def alpha_beta(dtype):
    """The two factors, in the type that sums are taken in, and their packed form."""
    if dtype.is_complex:
        alpha, beta = SCALES["complex"]
        return alpha, beta, packed("4f", alpha.real, alpha.imag, beta.real, beta.imag)
    if dtype.is_floating_point:
        alpha, beta = SCALES["float"]
        return alpha, beta, packed("2f", alpha, beta)
    alpha, beta = SCALES["int"]
    return alpha, beta, packed("2q" if dtype == torch.int64 else "2i", alpha, beta)


def bound_of(a, b):
    return float((widest(a).abs().double().nan_to_num(0, 0, 0) @ widest(b).abs().double()).max())


@checks(r"(?P<what>matmul|addmm)_(?P<type>\w+)")
def two_dimensions(kernel, match):
    dtype = DTYPES[match["type"]]
    for rows, inner, columns, special in [
        (19, 37, 35, False),
        (1, 1, 1, False),
        (16, 16, 16, False),
        (40, 20, 30, True),
    ]:
        a = product_inputs(dtype, inner, rows).t()
        b = product_inputs(dtype, inner, columns)
        if special:
            if not dtype.is_floating_point:
                continue
            a = with_specials(a.t().contiguous()).t()
        out = torch.empty(rows, columns, dtype=dtype, device="mps")
        sizes = words(rows, inner, columns)
        strides = [*a.stride(), *b.stride(), *out.stride()]
        expected, bound = widest(a) @ widest(b), bound_of(a, b)
        grid = (math.ceil(columns / TILE), math.ceil(rows / TILE), 1)
        operands = [mps(a.t()).t(), mps(b), out]
        if match["what"] == "addmm":
            bias = product_inputs(dtype, columns).expand(rows, columns)
            alpha, beta, factors = alpha_beta(dtype)
            expected = alpha * expected + beta * widest(bias)
            bound = abs(alpha) * bound + abs(beta) * float(widest(bias).abs().max())
            strides += bias.stride()
            operands += [mps(bias[0]), factors]
        by_groups(kernel, *operands, longs(*strides), sizes, grid=grid, group=(TILE, TILE, 1))
        what = f"{rows}x{inner}x{columns}" + (" with NaN and infinities" if special else "")
        yield close(what, out, expected, inner + 2, bound)


@checks(r"naive_(?P<what>bmm|baddbmm|addbmm)_(?P<type>\w+)")
def batches(kernel, match):
    dtype, what = DTYPES[match["type"]], match["what"]
    for count, rows, inner, columns in [(3, 17, 20, 18), (1, 1, 1, 1)]:
        a = product_inputs(dtype, count, inner, rows).transpose(1, 2)
        b = product_inputs(dtype, count, inner, columns)
        shape = (rows, columns) if what == "addbmm" else (count, rows, columns)
        out = torch.empty(shape, dtype=dtype, device="mps")
        expected, bound = widest(a) @ widest(b), bound_of(a, b)
        strides = [*reversed(a.stride()), *reversed(b.stride()), out.stride(-1), out.stride(-2), out.stride(0)]
        operands = [mps(a.transpose(1, 2)).transpose(1, 2), mps(b), out]
        if what == "addbmm":
            expected, bound = expected.sum(0), bound * count
        if what != "bmm":
            bias = product_inputs(dtype, columns).expand(shape)
            alpha, beta, factors = alpha_beta(dtype)
            expected = alpha * expected + beta * widest(bias)
            bound = abs(alpha) * bound + abs(beta) * float(widest(bias).abs().max())
            strides += [bias.stride(-1), bias.stride(-2), bias.stride(0)]
            operands += [mps(bias.reshape(-1, columns)[0]), factors]
        grid = (math.ceil(columns / TILE), math.ceil(rows / TILE), 1 if what == "addbmm" else count)
        sizes = words(rows, inner, columns, count)
        by_groups(kernel, *operands, longs(*strides), sizes, grid=grid, group=(TILE, TILE, 1))
        yield close(f"{count} of {rows}x{inner}x{columns}", out, expected, inner * count + 2, bound)


class Blocks:
    """A batch of symmetric positive matrices, as the kernels see it: U takes it as it lies, L transposed."""

    SIZE = 32

    def __init__(self, upper, batch, order):
        half = torch.randn(batch, order, order)
        self.upper = upper
        self.matrix = half @ half.mT / order + torch.eye(order) * 2
        self.count = math.ceil(order / self.SIZE)

    def view(self, matrix):
        return matrix if self.upper else matrix.mT

    def block(self, matrix, row, column):
        size = self.SIZE
        return self.view(matrix)[:, row * size : (row + 1) * size, column * size : (column + 1) * size]

    def lower(self, matrix):
        """What the algorithm defines; above the diagonal the kernels leave what they like."""
        return self.view(matrix).cpu().tril().contiguous()

    def launch(self, kernel, matrix, info, k, grid):
        batch, order = matrix.shape[:2]
        by_groups(kernel, matrix, info, words(order), words(self.SIZE), words(k), grid=(batch, *grid), group=(32, 8, 1))


@checks(r"factorDiagonalBlock(?P<half>[UL])")
def factor_diagonal_block(kernel, match):
    for order, k in [(70, 0), (70, 1), (70, 2), (1, 0)]:
        blocks = Blocks(match["half"] == "U", 2, order)
        out, info = mps(blocks.matrix), torch.zeros(2, dtype=torch.int32, device="mps")
        blocks.launch(kernel, out, info, k, (1, 1))
        expected = blocks.matrix.double()
        # torch.linalg.cholesky reads the lower half, as the kernel does.
        blocks.block(expected, k, k)[:] = torch.linalg.cholesky(blocks.block(expected, k, k))
        yield Check(f"block {k} of {order}", blocks.lower(out), blocks.lower(expected.float()), rtol=1e-5, atol=1e-5)
        yield Check("info", info, torch.zeros(2, dtype=torch.int32))
    blocks = Blocks(match["half"] == "U", 2, 20)
    blocks.matrix[1, 7, 7] = -1
    out, info = mps(blocks.matrix), torch.zeros(2, dtype=torch.int32, device="mps")
    blocks.launch(kernel, out, info, 0, (1, 1))
    yield Check("not positive", info, torch.tensor([0, 8], dtype=torch.int32))


@checks(r"applyTRSM(?P<half>[UL])")
def apply_trsm(kernel, match):
    for order in (96, 70):
        blocks = Blocks(match["half"] == "U", 2, order)
        out, info = mps(blocks.matrix), torch.zeros(2, dtype=torch.int32, device="mps")
        blocks.launch(kernel, out, info, 0, (blocks.count - 1, 1))
        expected = blocks.matrix.double()
        diagonal = blocks.block(expected, 0, 0).tril()
        for j in range(1, blocks.count):
            target = blocks.block(expected, j, 0)
            target[:] = torch.linalg.solve_triangular(diagonal.mT, target.clone(), upper=True, left=False)
        yield Check(f"order {order}", blocks.lower(out), blocks.lower(expected.float()), rtol=1e-5, atol=1e-5)


@checks(r"applySYRK(?P<half>[UL])")
def apply_syrk(kernel, match):
    for order in (96, 70):  # whole 8x8 matrices; the loop for what is left
        blocks = Blocks(match["half"] == "U", 2, order)
        out, info = mps(blocks.matrix), torch.zeros(2, dtype=torch.int32, device="mps")
        left = blocks.count - 1
        blocks.launch(kernel, out, info, 0, (left * (left + 1) // 2, 1))
        before, expected = blocks.matrix.double(), blocks.matrix.double()
        for j in range(1, blocks.count):
            for h in range(1, j + 1):
                blocks.block(expected, j, h)[:] -= blocks.block(before, j, 0) @ blocks.block(before, h, 0).mT
        yield Check(f"order {order}", blocks.lower(out), blocks.lower(expected.float()), rtol=1e-5, atol=1e-5)


@checks("applyPivots")
def apply_pivots(kernel, match):
    batch, order, count = 2, 18, 11
    matrix = torch.randn(batch, order, order)
    pivots = torch.randint(0, order, (batch, count), dtype=torch.int32)
    pivots[:, 3] = 3
    out = mps(matrix)
    # No host code launches it any more. Rows are shared out along x alone, so that a group has no second row.
    by_groups(kernel, out, mps(pivots), words(order), words(count), grid=(batch, 1, 1), group=(32, 1, 1))
    expected = matrix.clone()
    for b in range(batch):
        for i in reversed(range(count)):
            swapped = int(pivots[b, i])
            expected[b, [i, swapped]] = expected[b, [swapped, i]]
    yield Check("rows swapped", out, expected)


@checks(r"unpack_pivots_(?P<to>int|long)_(?P<type>int|long)")
def unpack_pivots(kernel, match):
    batch, order, count = 5, 9, 7
    pivots = torch.stack([torch.stack([torch.randint(i + 1, order + 1, ()) for i in range(count)])] * batch)
    pivots[0] = order
    pivots = pivots.to(DTYPES[match["type"]])
    perm = torch.arange(order).repeat(batch, 1).to(DTYPES[match["to"]])
    out = mps(perm)
    kernel(out, mps(pivots), words(order, count, count), threads=batch)
    for row, swaps in zip(perm, pivots, strict=True):
        for i, swap in enumerate(swaps.tolist()):
            row[[i, swap - 1]] = row[[swap - 1, i]]
    yield Check("permutation", out, perm)


@checks(r"orgqr_(?P<type>\w+)")
def orgqr(kernel, match):
    dtype = DTYPES[match["type"]]
    exact = torch.complex128 if dtype.is_complex else torch.float64
    batch, m, n = 2, 7, 4
    a, tau = torch.geqrf(torch.randn(batch, m, n, dtype=exact))
    a, tau = a.to(dtype), tau.to(dtype)
    out = mps(a)
    work = [torch.zeros(batch, m, m, dtype=dtype, device="mps") for _ in range(3)]
    layout = [a.stride(), tau.stride(), work[0].stride(), work[0].shape]
    values = [value for numbers in layout for value in padded(numbers, MAX_DIMS)]
    parameters = packed(f"i{4 + 4 * MAX_DIMS}I", 1, m, m * m, n, n, *values)
    kernel(out, mps(tau), *work, parameters, threads=batch * m * m, group_size=m * m)
    expected = torch.linalg.householder_product(a.to(exact), tau.to(exact))
    got, precision = out.cpu(), 2.0**-24
    if dtype == torch.complex32:
        got, expected, dtype = torch.view_as_real(got), torch.view_as_real(expected), torch.float16
    if dtype in (torch.float16, torch.bfloat16):
        precision = rounding(dtype)
    # n products of matrices whose entries are at most 1, each a sum of m products in the type itself.
    yield Check("columns", got, expected.to(dtype), atol=2 * n * m * precision)


@checks("linalg_qr_householder_float")
def householder(kernel, match):
    for batch, m, n in [(2, 40, 25), (1, 6, 9), (1, 1, 1)]:
        a = torch.randn(batch, m, n)
        q = torch.empty(batch, m, m, device="mps")
        r = torch.empty(batch, m, n, device="mps")
        info = torch.ones(1, dtype=torch.int32, device="mps")
        work = torch.empty(batch, m, device="mps")
        by_groups(kernel, mps(a), q, r, info, words(m, n), work, grid=(batch, 1, 1), group=(1024, 1, 1))
        q_expected, r_expected = torch.linalg.qr(a.double(), mode="complete")
        yield Check(f"Q of {m}x{n}", q, q_expected.float(), atol=1e-6 * m)
        yield Check(f"R of {m}x{n}", r, r_expected.float(), rtol=1e-6 * m, atol=1e-6 * m)
        yield Check("info", info, torch.zeros(1, dtype=torch.int32))
