"""Kernels of Metal 4's tensor operations, of the second library of releases from 2.14 on.

Those that take what a kernel without them takes are checked beside it: attention, scaled products, triangular solves.
"""

import dataclasses

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import blank, ceil_div
from packing import by_groups, mps, packed, words

from families.convolutions import Case
from families.grouped_products import ENDS, compared
from families.lu import BATCH, NONE, PANEL_OF_CHOLESKY, Cholesky, close, exact

SIMD = 32

TYPE = r"(?P<type>float|half|bfloat)"


def digits(text: str) -> tuple[int, ...]:
    return tuple(map(int, text))


@checks(
    rf"conv3d_mpp_{TYPE}_b(?P<outputs>\d+)_w(?P<width>\d+)_h(?P<height>\d+)_s(?P<simdgroups>\d+)_k(?P<kernel>\d{{3}})"
    r"_s(?P<stride>\d{3})_d(?P<dilation>\d{3})_c(?P<channels>\d+|dyn)_(?P<bias>bias|nobias)_ncdhw"
    r"_(?P<grouped>grouped|ungrouped)",
    since="2.14",
)
def conv3d(kernel, match):
    """Channels come last in the input and in the weights, whose outputs follow them."""
    taps, stride, dilation = (digits(match[name]) for name in ("kernel", "stride", "dilation"))
    groups = 3 if match["grouped"] == "grouped" else 1
    channels = 70 if match["channels"] == "dyn" else int(match["channels"])
    tile, width, height = (int(match[name]) for name in ("outputs", "width", "height"))
    outputs = groups * (5 if groups > 1 else 37)
    # Every size is one that the last window of does not fill.
    size = tuple(d * (k - 1) + 1 + 4 * s for d, k, s in zip(dilation, taps, stride, strict=True))
    padding = tuple(k // 2 for k in taps)
    case = Case(channels * groups, outputs, size, taps, stride, padding, dilation, groups, match["bias"] == "bias")
    tensors = x, weight, bias = case.tensors(DTYPES[match["type"]])
    shape = case.result(x, weight, bias).shape
    out = blank(x.dtype, *shape)
    depth = [size[0], shape[2], taps[0], stride[0], padding[0], dilation[0]]
    plane = case.params(torch.empty(shape, device="meta"))
    layout = packed("17i?3x6i?", *plane, case.bias, *depth, True)
    grid = (
        ceil_div(outputs // groups, tile) * groups,
        ceil_div(shape[4], width),
        ceil_div(shape[3], height) * shape[2] * shape[0],
    )
    memory = (x.permute(0, 2, 3, 4, 1).contiguous(), weight.permute(2, 3, 4, 1, 0).contiguous())
    by_groups(
        *(kernel, mps(memory[0]), mps(memory[1]), out, layout, mps(bias)),
        grid=grid,
        group=(int(match["simdgroups"]) * SIMD, 1, 1),
    )
    yield case.check(out, tensors, f"{size} by {taps}")


LINES = (
    Case(6, 40, (1, 150), (1, 3), (1, 1), (0, 1), (1, 2), 2, True),
    Case(20, 37, (1, 70), (1, 4), (1, 1), (0, 0), (1, 1), 1, False),
    Case(5, 18, (1, 64), (1, 1), (1, 1), (0, 0), (1, 1), 1, True),
)


@checks(
    rf"conv1d_mpp_(?P<read>ncl|nlc)_(?P<written>ncl|nlc)_b(?P<outputs>\d+)_s(?P<simdgroups>\d+)_{TYPE}", since="2.15"
)
def conv1d(kernel, match):
    """With channels first, what the first windows see has the padding in front, in memory of its own; with channels
    last the input has it, and a window is a row of a matrix where its places lie side by side.
    """
    places = 64
    by_rows = match["read"] == "nlc"
    for case in LINES:
        tensors = x, weight, bias = case.tensors(DTYPES[match["type"]])
        shape = case.result(x, weight, bias).shape
        pad, reach = case.padding[1], (case.kernel[1] - 1) * case.dilation[1]
        line = torch.nn.functional.pad(x[:, :, 0].float(), (pad, pad if by_rows else 0)).to(x.dtype)
        head = line[:, :, : ceil_div(pad, places) * places + reach] if pad and not by_rows else line
        memory = line.mT if by_rows else x[:, :, 0]
        flat = by_rows and case.dilation[1] == 1 and case.groups == 1
        weights = weight[:, :, 0].permute(0, 2, 1) if flat else weight[:, :, 0].permute(2, 0, 1)
        last = match["written"] == "nlc"
        out = blank(x.dtype, shape[0], shape[3], shape[1]) if last else blank(x.dtype, shape[0], shape[1], shape[3])
        padded = dataclasses.replace(case, size=(1, memory.shape[1])) if by_rows else case
        layout = packed("17i?", *padded.params(torch.empty(shape, device="meta")), case.bias)
        tiles = ceil_div(case.outputs // case.groups, int(match["outputs"])) * case.groups
        by_groups(
            *(kernel, mps(memory.contiguous()), mps(weights.contiguous()), out, layout, mps(bias)),
            mps(head.contiguous()),
            grid=(tiles, ceil_div(shape[3], places), shape[0]),
            group=(int(match["simdgroups"]) * SIMD, 1, 1),
        )
        got = out.cpu().mT if last else out.cpu()
        yield case.check(got[:, :, None], tensors, f"{case.kernel}, padding {pad}")


def stored(values: torch.Tensor, by_columns: bool) -> torch.Tensor:
    """The same, with its columns in memory one behind the other."""
    return values.mT.contiguous().mT if by_columns else values


@checks(
    rf"grouped_mm_(?P<mode>rows|cols|k)_mpp_(?P<a>[nt])(?P<b>[nt])_{TYPE}_bm(?P<rows>\d+)_bn(?P<columns>\d+)",
    since="2.15",
)
def grouped_mm(kernel, match):
    """Groups of rows of the left operand, of columns of the right one, or of what is summed over."""
    dtype, mode = DTYPES[match["type"]], match["mode"]
    rows, columns = int(match["rows"]), int(match["columns"])
    count, last = len(ENDS), int(ENDS[-1])
    m, n, k = (last if mode == name else other for name, other in (("rows", 70), ("cols", 300), ("k", 45)))
    a = torch.randn(count, m, k) if mode == "cols" else torch.randn(m, k)
    b = torch.randn(count, k, n) if mode == "rows" else torch.randn(k, n)
    a, b = stored(a.to(dtype), match["a"] == "t"), stored(b.to(dtype), match["b"] == "t")
    out = torch.full((count, m, n) if mode == "k" else (m, n), 9.0, dtype=dtype, device="mps")
    batched = {"rows": b, "cols": a, "k": out}[mode]
    strides = (*a.stride()[-2:], *b.stride()[-2:], *out.stride()[-2:], batched.stride(0))
    grid = (
        ceil_div(n, columns) + (count if mode == "cols" else 0),
        ceil_div(m, rows) + (count if mode == "rows" else 0),
        count if mode == "k" else 1,
    )
    by_groups(
        *(kernel, in_memory(a), in_memory(b), mps(ENDS), out, packed("4I7Q", m, n, k, count, *strides)),
        grid=grid,
        group=(kernel.max_threads_per_threadgroup, 1, 1),
    )
    expected = torch.empty(out.shape, dtype=torch.float64)
    begin = 0
    for i, end in enumerate(ENDS.tolist()):
        part = slice(begin, end)
        if mode == "rows":
            expected[part] = a[part].double() @ b[i].double()
        elif mode == "cols":
            expected[:, part] = a[i].double() @ b[:, part].double()
        else:
            expected[i] = a[:, part].double() @ b[part].double()
        begin = end
    yield compared(mode, out, expected, k)


def in_memory(values: torch.Tensor) -> torch.Tensor:
    return mps(values if values.is_contiguous() else values.mT)


@checks(r"int_mm_mpp_(?P<rows>\d+)_(?P<columns>\d+)_(?P<simdgroups>\d)", since="2.15")
def int_mm(kernel, match):
    rows, columns = int(match["rows"]), int(match["columns"])
    for m, k, n in ((rows, 40, columns), (rows + 19, 33, columns + 35), (1, 1, 1)):
        a, b = (torch.randint(-128, 128, shape).to(torch.int8) for shape in ((m, k), (k, n)))
        out = torch.full((m, n), 9, dtype=torch.int32, device="mps")
        by_groups(
            *(kernel, mps(a), mps(b), out, [k, 1, n, 1, n, 1], packed("3I", m, k, n)),
            grid=(ceil_div(n, columns), ceil_div(m, rows), 1),
            group=(int(match["simdgroups"]) * SIMD, 1, 1),
        )
        yield Check(f"{m}x{k}x{n}", out, (a.long() @ b.long()).int())


@checks(r"applySYRKTrailing(?P<half>[UL])_(?P<rows>\d+)_(?P<columns>\d+)_(?P<simdgroups>\d)", since="2.14")
def cholesky_update(kernel, match):
    for order in (PANEL_OF_CHOLESKY + 64, PANEL_OF_CHOLESKY + 131):
        blocks = Cholesky(match["half"] == "U", torch.float32, order)
        out, left = mps(blocks.matrix), order - PANEL_OF_CHOLESKY
        sizes = (words(order), words(PANEL_OF_CHOLESKY), words(0))
        grid = (ceil_div(left, int(match["columns"])), ceil_div(left, int(match["rows"])), BATCH)
        by_groups(kernel, out, NONE, *sizes, grid=grid, group=(int(match["simdgroups"]) * SIMD, 1, 1))
        expected = exact(blocks.matrix)
        view = blocks.view(expected)
        below = view[:, PANEL_OF_CHOLESKY:, :PANEL_OF_CHOLESKY]
        view[:, PANEL_OF_CHOLESKY:, PANEL_OF_CHOLESKY:] -= below @ below.mH
        yield blocks.check(f"order {order}", out, expected)


@checks(r"gemmLU_(?P<rows>\d+)_(?P<columns>\d+)_(?P<simdgroups>\d)", since="2.14")
def lu_update(kernel, match):
    """The rest of the matrix less the product of a panel's columns and rows."""
    order, begin, (first, count) = 131, 33, (1, 32)
    for end in (order, begin + 64):
        a = torch.randn(BATCH, order, order)
        out, left = mps(a), end - begin
        sizes = (words(order, order), words(begin, end, begin, end), words(first, count, 0, 0))
        grid = (ceil_div(left, int(match["columns"])), ceil_div(left, int(match["rows"])), BATCH)
        by_groups(kernel, out, NONE, NONE, *sizes, grid=grid, group=(int(match["simdgroups"]) * SIMD, 1, 1))
        expected = exact(a)
        panel = slice(first, first + count)
        expected[:, begin:end, begin:end] -= expected[:, begin:end, panel] @ expected[:, panel, begin:end]
        yield close(f"to {end}", out, expected)
