"""ScanKernel.metal: running sums, products, minima, maxima and log-sum-exps, in all the forms that split the axis.

Sums are of small integers and products of powers of two: exact in any order, so that forms of any shape must give the
same bits. Steps of a longer sequence (block_reduce, scan_block_sums, block_carry) are checked alone.
"""

import torch
from harness import Check, checks
from inputs import DTYPES, factors, hard, ordinary, whole
from launch import blank, ceil_div, flushed, widest

TYPE = r"(?P<type>float2|half2|float|half|bfloat|int|long|short|char|uchar|bool)(_(?P<wide>long))?"
OP = r"(?P<op>cumsum|cumprod)"
SIMD = 32
ROUNDING = {torch.float32: 0.0, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
TILE = 32


def input_type(match) -> torch.dtype:
    return DTYPES[match["type"]]


def output_type(match) -> torch.dtype:
    return DTYPES[match["wide"] or match["type"]]


def sum_type(match) -> torch.dtype:
    dtype = output_type(match)
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def reads(match) -> int:
    """Elements that a thread reads at once."""
    return 4 if sum_type(match).itemsize <= 4 else 2


def exact(match, *shape: int) -> torch.Tensor:
    dtype = input_type(match)
    if match["op"] == "cumsum":
        x = whole(dtype, *shape)
        if dtype.is_floating_point and x.numel() > 20:
            x.flatten()[-9] = float("inf")
            x.flatten()[-3] = float("nan")
        return x
    if not dtype.is_floating_point and not dtype.is_complex:
        return factors(dtype, *shape)
    units = [1.0, -1.0] + ([1j, -1j] if dtype.is_complex else [])
    x = torch.tensor(units)[torch.randint(0, len(units), shape)]
    # So few that no product of any of them leaves half's range.
    for i, factor in enumerate(torch.randint(0, x.numel(), (6,)).tolist()):
        x.flatten()[factor] *= 2 if i % 2 else 0.5
    return x.to(dtype)


def scan(op: str, x: torch.Tensor, dim: int) -> torch.Tensor:
    return (widest(x).cumsum if op == "cumsum" else widest(x).cumprod)(dim)


def total(op: str, x: torch.Tensor, dim: int) -> torch.Tensor:
    return scan(op, x, dim).select(dim, -1)


def compare(what: str, out: torch.Tensor, expected: torch.Tensor) -> Check:
    expected = expected.to(out.dtype)
    # Products of 1j give zeros of either sign: the smallest tolerance lets them pass.
    return Check(what, out, expected, rtol=1e-12 if out.dtype.is_complex else 0.0)


def inner_group(axis: int, per_thread: int) -> int:
    if axis <= per_thread * 1024:
        return ceil_div(axis, per_thread * SIMD) * SIMD
    if axis <= per_thread * 2048:
        return ceil_div(axis // 2, per_thread * SIMD) * SIMD
    return 1024


def launch_inner(kernel, per_thread: int, x, outputs) -> None:
    rows, axis = x.shape
    group = inner_group(axis, per_thread)
    kernel(x.to("mps"), *outputs, axis, threads=(group, rows, 1), group_size=(group, 1, 1))


def launch_outer(kernel, per_thread: int, x, outputs) -> None:
    rows, axis, stride = x.shape
    blocks = ceil_div(stride, TILE)
    group = TILE // per_thread * SIMD
    kernel(x.to("mps"), *outputs, axis, stride, blocks, threads=(group, rows * blocks, 1), group_size=(group, 1, 1))


def shapes(form: str) -> list[tuple[int, ...]]:
    return [(3, 1), (2, 77), (2, 4500)] if form == "innermost" else [(2, 1, 3), (2, 70, 45)]


LAUNCH = {"innermost": (launch_inner, -1), "outer": (launch_outer, 1)}


@checks(rf"{OP}_(?P<form>innermost|outer)_{TYPE}")
def plain(kernel, match):
    launch, dim = LAUNCH[match["form"]]
    for shape in shapes(match["form"]):
        x = exact(match, *shape)
        out = blank(output_type(match), *shape)
        launch(kernel, reads(match), x, [out])
        yield compare(f"exact {shape}", out, scan(match["op"], x, dim))


@checks(rf"logcumsumexp_(?P<form>innermost|outer)_{TYPE}")
def logcumsumexp(kernel, match):
    yield from (complex_logs if input_type(match).is_complex else real_logs)(kernel, match)


def real_logs(kernel, match):
    launch, dim = LAUNCH[match["form"]]
    dtype = input_type(match)
    # A dozen logaddexps on the way to an element, each with an exp and a log of a few ulp; then the result's rounding.
    rtol = 2.0**-23 * 8 + ROUNDING[dtype]
    inputs = [ordinary(dtype, *shape) for shape in shapes(match["form"])]
    infinite = torch.full(shapes(match["form"])[1], float("-inf"), dtype=dtype)
    infinite[1] = 1.0
    infinite.flatten()[-1] = float("nan")
    for x in [*inputs, infinite]:
        out = blank(dtype, *x.shape)
        launch(kernel, reads(match), x, [out])
        yield Check(f"{tuple(x.shape)}", out, x.double().logcumsumexp(dim).to(dtype), rtol=rtol, atol=2.0**-21)


def complex_logs(kernel, match):
    launch, dim = LAUNCH[match["form"]]
    dtype = input_type(match)
    for shape in shapes(match["form"])[:2]:
        # Real parts grow along the axis: where those of two sums are equal, logaddexp forgets one of them, and half2,
        # which is computed with as it is, would find many.
        steps = 0.3 * torch.arange(shape[dim]).view(-1, *[1] * (len(shape) - 1 - dim % len(shape)))
        x = torch.complex(steps + 0.05 * torch.rand(shape), torch.rand(shape)).to(dtype)
        out = blank(dtype, *shape)
        launch(kernel, reads(match), x, [out])
        # Compared as what the logarithms are of. A rounding of a logarithm of up to 32 is 2**-20 of its number, or
        # 2**-7 in half, and a dozen of them add up.
        rtol = 2.0**-17 if dtype == torch.complex64 else 2.0**-4
        sums = x.to(torch.complex128).exp().cumsum(dim)
        got = out.cpu().to(torch.complex128).exp()
        yield Check(f"{shape}", got / sums, torch.ones_like(sums), rtol=rtol, atol=rtol)


@checks(rf"(?P<op>cummin|cummax)_(?P<form>innermost|outer)_{TYPE}")
def extreme(kernel, match):
    launch, dim = LAUNCH[match["form"]]
    dtype = input_type(match)
    for shape in shapes(match["form"]):
        for make in (ordinary, lambda dtype, *shape: hard(dtype, torch.Size(shape).numel()).view(shape).flip(1)):
            x = make(dtype, *shape)
            # Bfloats become floats and bfloats again; what that does to denormals is open.
            x = flushed(x) if dtype == torch.bfloat16 else x
            values, indices = blank(dtype, *shape), blank(torch.int64, *shape)
            launch(kernel, 4 if dtype.itemsize <= 4 else 2, x, [values, indices])
            expected = getattr(flushed(x), match["op"])(dim).indices
            yield Check(f"indices {shape}", indices, expected)
            yield Check(f"values {shape}", values, x.gather(dim, expected))


@checks(rf"{OP}_block_reduce_{TYPE}")
def block_reduce(kernel, match):
    rows, axis, block, group = 2, 5000, 2048, 256
    blocks = ceil_div(axis, block)
    x = exact(match, rows, axis)
    sums = blank(sum_type(match), rows, blocks)
    kernel(x.to("mps"), sums, axis, block, blocks, threads=(group * blocks, rows, 1), group_size=(group, 1, 1))
    expected = torch.stack([total(match["op"], part, -1) for part in x.split(block, -1)], -1)
    yield compare("totals of blocks", sums, expected)


@checks(rf"{OP}_scan_block_sums_{TYPE}")
def block_sums(kernel, match):
    for blocks in (3, 1500):
        x = exact(match, 2, blocks).to(sum_type(match))
        sums = x.to("mps")
        kernel(sums, blocks, threads=(256, 2, 1), group_size=(256, 1, 1))
        yield compare(f"{blocks} blocks", sums, scan(match["op"], x, -1))


@checks(rf"{OP}_block_carry_{TYPE}")
def block_carry(kernel, match):
    rows, axis, block, group = 2, 5000, 2048, 256
    blocks = ceil_div(axis, block)
    x = exact(match, rows, axis)
    sums = torch.stack([total(match["op"], part, -1) for part in x.split(block, -1)], -1).to(sum_type(match))
    out = blank(output_type(match), rows, axis)
    kernel(
        *(x.to("mps"), out, sums.to("mps"), axis, block, blocks),
        threads=(group * blocks, rows, 1),
        group_size=(group, 1, 1),
    )
    yield compare("all blocks", out, scan(match["op"], x, -1))


@checks(rf"{OP}_contig_decoupled_{TYPE}")
def decoupled(kernel, match):
    rows, axis, group = 2, 10000, 256
    tiles = ceil_div(axis, group * 16)
    x = exact(match, rows, axis)
    out = blank(output_type(match), rows, axis)
    counter = torch.zeros(1, dtype=torch.int32, device="mps")
    aggregates, inclusive = (torch.full((rows * tiles,), -1, dtype=torch.int32, device="mps") for _ in range(2))
    kernel(
        *(x.to("mps"), out, counter, aggregates, inclusive, axis, tiles),
        threads=group * rows * tiles,
        group_size=group,
        arg_casts="int32",
    )
    yield compare("all tiles", out, scan(match["op"], x, -1))


@checks(rf"{OP}_strided_decoupled_(?P<width>\d+)_(?P<reads>\d+)_{TYPE}")
def strided_decoupled(kernel, match):
    width = int(match["width"])
    group = 768 if width <= 2 else 512
    tile = group * int(match["reads"])
    rows, axis = 2, tile + 333
    tiles = ceil_div(axis, tile)
    x = exact(match, rows, axis, width)
    out = blank(output_type(match), rows, axis, width)
    counter, status = (torch.zeros(n, dtype=torch.int32, device="mps") for n in (1, rows * tiles))
    aggregates, inclusive = (blank(torch.int32, rows * tiles * width) for _ in range(2))
    kernel(
        *(x.to("mps"), out, counter, status, aggregates, inclusive, axis, tiles),
        threads=group * rows * tiles,
        group_size=group,
        arg_casts="int32",
    )
    yield compare("all tiles", out, scan(match["op"], x, 1))


@checks(rf"{OP}_strided_block_(?P<step>reduce|carry)_(?P<width>\d+)_{TYPE}")
def strided_blocks(kernel, match):
    width, rows, axis, block = int(match["width"]), 2, 200, 96
    group = width // reads(match) * SIMD
    blocks = ceil_div(axis, block)
    for stride in (width - 3, width) if width < 32 else (29, 45):
        stride_blocks = ceil_div(stride, width)
        x = exact(match, rows, axis, stride)
        totals = torch.stack([total(match["op"], part, 1) for part in x.split(block, 1)], -1)
        sizes = (axis, stride, stride_blocks, block, blocks, rows)
        where = {"threads": (group, rows * stride_blocks * blocks, 1), "group_size": (group, 1, 1)}
        if match["step"] == "reduce":
            sums = blank(sum_type(match), rows, stride, blocks)
            kernel(x.to("mps"), sums, *sizes, **where)
            yield compare(f"totals, stride {stride}", sums, totals)
        else:
            sums = scan(match["op"], totals, -1).to(sum_type(match))
            out = blank(output_type(match), rows, axis, stride)
            kernel(x.to("mps"), out, sums.to("mps"), *sizes, **where)
            yield compare(f"stride {stride}", out, scan(match["op"], x, 1))


@checks(rf"{OP}_vec_block_(?P<step>reduce|carry)_(?P<width>\d+)_{TYPE}")
def vector_blocks(kernel, match):
    width, rows, group = int(match["width"]), 2, 64
    tile = group * reads(match)
    axis, block = 3 * tile - 17, 2 * tile
    blocks = ceil_div(axis, block)
    x = exact(match, rows, axis, width)
    totals = torch.stack([total(match["op"], part, 1) for part in x.split(block, 1)], 1)
    sizes = (axis, block, blocks, rows)
    where = {"threads": (group, rows * blocks, 1), "group_size": (group, 1, 1)}
    if match["step"] == "reduce":
        sums = blank(sum_type(match), rows, blocks, width)
        kernel(x.to("mps"), sums, *sizes, **where)
        yield compare("totals of blocks", sums, totals)
    else:
        out = blank(output_type(match), rows, axis, width)
        kernel(x.to("mps"), out, totals.to(sum_type(match)).to("mps"), *sizes, **where)
        yield compare("all blocks", out, scan(match["op"], x, 1))


@checks(rf"{OP}_tiny_innermost_{TYPE}")
def tiny(kernel, match):
    for axis, rows in ((1, 3000), (5, 1000), (32, 100)):
        per_group = 2048 // axis
        x = exact(match, rows, axis)
        out = blank(output_type(match), rows, axis)
        kernel(
            *(x.to("mps"), out, axis, rows, per_group),
            threads=256 * ceil_div(rows, per_group),
            group_size=256,
            arg_casts="int32",
        )
        yield compare(f"{rows} rows of {axis}", out, scan(match["op"], x, -1))


@checks(rf"{OP}_innermost_transposed_{TYPE}")
def transposed(kernel, match):
    axis, columns = 77, 70
    blocks = ceil_div(columns, TILE)
    group = TILE // reads(match) * SIMD
    x = exact(match, columns, axis)
    out = blank(output_type(match), columns, axis)
    kernel(
        *(x.t().contiguous().to("mps"), out, axis, columns, blocks),
        threads=(group, blocks, 1),
        group_size=(group, 1, 1),
    )
    yield compare("columns as rows", out, scan(match["op"], x, -1))
