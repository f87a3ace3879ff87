"""Sparse tensors in coordinates: coalescing, products, softmax."""

import torch
from harness import Check, checks
from inputs import DTYPES, ordinary
from launch import widest
from packing import mps, packed, rounding, words
from sums import close

COUNT = 300
LANES = 32  # of a simdgroup: the widest group that the host code asks for here


def sorted_keys(count=COUNT, below=80):
    return torch.randint(0, below, (count,)).sort().values


def starts(keys):
    return torch.cat([torch.tensor([True]), keys[1:] != keys[:-1]])


@checks("compute_output_positions_kernel")
def output_positions(kernel, match):
    unique = torch.rand(COUNT) < 0.5
    out = torch.empty(COUNT, dtype=torch.int32, device="mps")
    kernel(mps(unique), out, threads=COUNT)
    before = unique.int().cumsum(0) - unique.int()
    yield Check("how many before", out, before.int())


@checks("mark_unique_positions_and_count_kernel")
def mark_unique(kernel, match):
    for keys in (sorted_keys(), torch.zeros(1, dtype=torch.int64)):
        marks = torch.zeros(len(keys), dtype=torch.bool, device="mps")
        count = torch.zeros(1, dtype=torch.int32, device="mps")
        kernel(mps(keys), marks, count, threads=len(keys))
        yield Check("marks", marks, starts(keys))
        yield Check("count", count, starts(keys).sum(0, keepdim=True).int())


@checks("kogge_stone_step")
def kogge_stone(kernel, match):
    values = ordinary(torch.int32, COUNT)
    for stride in (1, 64, COUNT):
        out = torch.empty(COUNT, dtype=torch.int32, device="mps")
        kernel(mps(values), out, words(stride), threads=COUNT)
        expected = values.clone()
        expected[stride:] += values[: COUNT - stride]
        yield Check(f"step of {stride}", out, expected)


@checks("shift_right_kernel")
def shift_right(kernel, match):
    values = ordinary(torch.int32, COUNT)
    out = torch.empty(COUNT, dtype=torch.int32, device="mps")
    kernel(mps(values), out, threads=COUNT)
    yield Check("shifted", out, torch.cat([torch.zeros(1, dtype=torch.int32), values[:-1]]))


@checks(r"coalesce_with_positions_kernel_(?P<type>\w+)")
def coalesce(kernel, match):
    dtype = DTYPES[match["type"]]
    dims, size = 2, 3
    keys = sorted_keys()
    marks = starts(keys)
    positions = (marks.int().cumsum(0) - marks.int()).int()
    indices = torch.stack([keys // 9, keys % 9])
    values = ordinary(dtype, COUNT, size)
    total = int(marks.sum())
    out_indices = torch.zeros(dims, total, dtype=torch.int64, device="mps")
    out = torch.zeros(total * size * dtype.itemsize, dtype=torch.uint8, device="mps")
    given = [mps(t) for t in (keys, indices, values.view(torch.uint8), marks, positions)]
    kernel(*given, out_indices, out, *(words(n) for n in (COUNT, size, dims, total)), threads=COUNT)
    yield Check("indices", out_indices, indices[:, marks])
    if dtype.is_complex:
        values = torch.view_as_real(values)
    expected = torch.zeros(total, *values.shape[1:], dtype=values.dtype)
    # One after the other and in the type itself, so that it is exact; truth values are joined.
    for position, value in zip((marks.int().cumsum(0) - 1).tolist(), values, strict=True):
        expected[position] = expected[position] | value if dtype == torch.bool else expected[position] + value
    yield Check("sums", out.cpu().view(values.dtype).view(expected.shape), expected)


@checks("flatten_indices_kernel")
def flatten(kernel, match):
    sizes = (5, 7, 11)
    indices = torch.stack([torch.randint(0, n, (COUNT,)) for n in sizes])
    factors = torch.tensor([77, 11, 1])
    out = torch.zeros(COUNT, dtype=torch.int64, device="mps")
    strides = packed("2q", *indices.stride())
    kernel(mps(indices), mps(factors), out, words(len(sizes)), strides, threads=COUNT)
    yield Check("flat", out, (indices * factors[:, None]).sum(0))


@checks("build_batch_ptr_from_sorted_batches")
def batch_pointers(kernel, match):
    count = 9
    batches = sorted_keys(below=count - 1)  # the last one is empty
    out = torch.zeros(count + 1, dtype=torch.int64, device="mps")
    kernel(mps(batches), out, words(COUNT, count), threads=count + 1, group_size=count + 1)
    yield Check("first of each", out, torch.searchsorted(batches, torch.arange(count + 1)))


def row_pointers_of(rows, batch_pointers, height):
    parts = zip(batch_pointers[:-1].tolist(), batch_pointers[1:].tolist(), strict=True)
    return torch.stack([torch.searchsorted(rows[a:b].contiguous(), torch.arange(height + 1)) + a for a, b in parts])


def batched_rows(batch, height):
    batches = sorted_keys(below=batch)
    rows = torch.randint(0, height, (COUNT,))
    rows = rows[(batches * height + rows).argsort()]
    return rows, torch.searchsorted(batches, torch.arange(batch + 1))


@checks("build_row_ptr_from_sorted_rows_by_batch")
def row_pointers(kernel, match):
    batch, height = 3, 40
    rows, pointers = batched_rows(batch, height)
    out = torch.zeros(batch, height + 1, dtype=torch.int64, device="mps")
    grid = (height + 1, batch, 1)
    kernel(mps(rows), mps(pointers), out, words(height, batch), threads=grid, group_size=(LANES, 1, 1))
    yield Check("first of each", out, row_pointers_of(rows, pointers, height))


@checks(r"spmm_bmm_coo_rows_grouped_(?P<type>\w+)")
def batched_product(kernel, match):
    dtype = DTYPES[match["type"]]
    batch, height, inner = 2, 30, 20
    for width in (45, 1):
        rows, pointers = batched_rows(batch, height)
        row_pointers = row_pointers_of(rows, pointers, height)
        columns, values = torch.randint(0, inner, (COUNT,)), ordinary(dtype, COUNT)
        dense = ordinary(dtype, batch, inner, width)
        out = torch.empty(batch, height, width, dtype=dtype, device="mps")
        group = min(width, LANES)
        kernel(
            *(mps(t) for t in (rows, columns, values, dense)),
            out,
            mps(row_pointers),
            words(batch, height, inner, width),
            threads=(group, height, batch),
            group_size=(group, 1, 1),
        )
        which = torch.searchsorted(pointers, torch.arange(COUNT), right=True) - 1
        products = widest(values)[:, None] * widest(dense)[which, columns]
        expected = torch.zeros(batch, height, width, dtype=products.dtype).index_put((which, rows), products, True)
        yield close(f"width {width}", out, expected, 20, 20 * float(products.abs().max()))


@checks(r"spmm_addmm_coo_(?P<type>\w+)")
def product_and_sum(kernel, match):
    dtype = DTYPES[match["type"]]
    height, inner, width, count = 30, 12, 45, 70
    whole = not (dtype.is_floating_point or dtype.is_complex)

    def draw(*shape):
        # Sums go through float32 and must fit into a byte.
        return torch.randint(0, 3, shape).to(dtype) if whole else ordinary(dtype, *shape)

    indices = torch.stack([sorted_keys(count, height), torch.randint(0, inner, (count,))])
    values, dense, added = draw(count), draw(inner, width), draw(height, width)
    for alpha, beta in [(2.0, 3.0), (1.0, 0.0)]:
        out = torch.empty(height, width, dtype=dtype, device="mps")
        kernel(
            *(mps(t) for t in (indices, values, dense, added)),
            out,
            words(height, inner, width),
            packed("2f", alpha, beta),
            words(count),
            threads=(width, 1, height),
            group_size=(LANES, 1, 1),
        )
        products = widest(values)[:, None] * widest(dense)[indices[1]]
        sums = torch.zeros(height, width, dtype=products.dtype).index_add(0, indices[0], products)
        expected = widest(added) * (int(beta) if whole else beta) + sums * (int(alpha) if whole else alpha)
        yield close(f"{alpha} and {beta}", out, expected, 10, 30 * float(products.abs().max()))


@checks(r"dense_sparse_mul_kernel_(?P<type>\w+)")
def dense_times_sparse(kernel, match):
    dtype = DTYPES[match["type"]]
    sizes, columns = (6, 9), 5
    indices = torch.stack([torch.randint(0, n, (COUNT,)) for n in sizes])
    dense, values = ordinary(dtype, *sizes, columns), ordinary(dtype, COUNT, columns)
    out = torch.empty(COUNT, columns, dtype=dtype, device="mps")
    given = [mps(t) for t in (dense, values)]
    kernel(
        *given,
        out,
        mps(indices),
        mps(torch.tensor(sizes)),
        words(COUNT, len(sizes), columns),
        threads=(columns, 1, COUNT),
        group_size=(columns, 1, 1),
    )
    expected = widest(values) * widest(dense)[indices[0], indices[1]]
    # One product; a complex one is a sum of two, of which the first may be fused into the second.
    yield close("products", out, expected, 2, float(expected.abs().max()) if dtype.is_complex else 0.0)


@checks("intersect_binary_search")
def intersect(kernel, match):
    left = torch.randperm(400)[:150].sort().values
    right = torch.randperm(400)[:200].sort().values
    for left_first in (True, False):
        found = [torch.zeros(150, dtype=torch.int64, device="mps") for _ in range(2)]
        count = torch.zeros(1, dtype=torch.int32, device="mps")
        kernel(mps(left), mps(right), *found, count, words(200), packed("?", left_first), threads=150)
        expected = [(left[:, None] == right).nonzero()[:, i] for i in (0, 1)]
        total = int(count.cpu())
        yield Check("how many", count, torch.tensor([len(expected[0])], dtype=torch.int32))
        # In which order is left to the atomic counter.
        of_left, of_right = (t.cpu()[:total] for t in (found if left_first else found[::-1]))
        order = of_left.argsort()
        yield Check("places on the left", of_left[order], expected[0])
        yield Check("places on the right", of_right[order], expected[1])


@checks(r"fused_gather_mul_kernel_(?P<type>\w+)")
def gather_and_multiply(kernel, match):
    dtype = DTYPES[match["type"]]
    dims, columns, count = 3, 40, 70
    left, right = ordinary(dtype, COUNT, columns), ordinary(dtype, 200, columns)
    of_left, of_right = torch.randperm(COUNT)[:count], torch.randperm(200)[:count]
    indices = torch.randint(0, 50, (dims, COUNT))
    out_indices = torch.zeros(dims, count, dtype=torch.int64, device="mps")
    out = torch.empty(count, columns, dtype=dtype, device="mps")
    kernel(
        *(mps(t) for t in (left, right, of_left, of_right, indices)),
        out_indices,
        out,
        words(dims, COUNT),
        words(count, columns),
        threads=(columns, 1, count),
        group_size=(LANES, 1, 1),
    )
    yield Check("indices", out_indices, indices[:, of_left])
    expected = widest(left)[of_left] * widest(right)[of_right]
    yield close("products", out, expected, 2, float(expected.abs().max()) if dtype.is_complex else 0.0)


@checks("mark_segments")
def mark_segments(kernel, match):
    keys = sorted_keys()
    out = torch.zeros(COUNT, dtype=torch.int32, device="mps")
    kernel(mps(keys), out, threads=COUNT)
    yield Check("marks", out, starts(keys).int())


def pools(keys):
    """Running numbers of equal keys, and where each pool begins and how long it is."""
    scan = starts(keys).int().cumsum(0).int()
    counts = torch.unique_consecutive(keys, return_counts=True)[1].int()
    return scan, (counts.cumsum(0) - counts).int(), counts


@checks("compute_offsets_and_counts")
def offsets_and_counts(kernel, match):
    scan, offsets, counts = pools(sorted_keys())
    got = [torch.zeros(COUNT, dtype=torch.int32, device="mps") for _ in range(2)]
    kernel(mps(scan), *got, words(COUNT), threads=COUNT)
    # Threads beyond the last pool write what nobody reads.
    yield Check("offsets", got[0][: len(offsets)], offsets)
    yield Check("counts", got[1][: len(counts)], counts)


@checks(r"softmax_sparse_(?P<what>forward|backward)_(?P<type>float|half|bfloat)")
def softmax(kernel, match):
    dtype, columns = DTYPES[match["type"]], 4
    scan, offsets, counts = pools(sorted_keys())
    for logarithm in (False, True):
        operation = torch.log_softmax if logarithm else torch.softmax
        values = ordinary(dtype, COUNT, columns)
        values[0] = 60.0
        table = [mps(torch.cat([t, torch.zeros(COUNT - len(t), dtype=t.dtype)])) for t in (offsets, counts)]
        arguments = [*table, mps(scan), words(COUNT, columns), packed("?", logarithm)]
        out = torch.empty(COUNT, columns, dtype=dtype, device="mps")
        parts = values.double().split(counts.tolist())
        results = torch.cat([operation(part, 0) for part in parts])
        what = "logarithms" if logarithm else "shares"
        if match["what"] == "forward":
            kernel(mps(values), out, *arguments, threads=COUNT)
            # exp and log to 4 ulp of what is up to 60 apart.
            yield Check(what, out, results.to(dtype), rtol=2 * rounding(dtype) + 2e-6, atol=5e-6 if logarithm else 0)
            continue
        grad, given = torch.randn(COUNT, columns).to(dtype), results.to(dtype)
        kernel(mps(grad), mps(given), out, *arguments, threads=COUNT)
        expected = []
        for g, y in zip(grad.double().split(counts.tolist()), given.double().split(counts.tolist()), strict=True):
            expected.append(g - y.exp() * g.sum(0) if logarithm else y * (g - (g * y).sum(0)))
        yield Check(what, out, torch.cat(expected).to(dtype), rtol=2 * rounding(dtype), atol=5e-6)
