"""ReduceOps.metal: sums, norms, extremes and where they are, over inner, outer and any dimensions.

From 2.14 on most of it is in reduce_blocks.py.

Sums are of small integers, exact in any order, so that they must be right to the bit.
"""

import torch
from harness import Check, checks
from inputs import DTYPES, hard, ordinary, whole
from launch import blank, ceil_div, flushed, round_up, strides_of, widest
from packing import DIMS, HALF_STEP, packed, padded

TYPE = r"float2|half2|float|half|bfloat|int|long|short|char|uchar|bool"
TYPES = rf"(?P<source>{TYPE})_(?P<target>{TYPE})"
MOST_THREADS = 1024
SIMD = 32


def params(p: float, x: torch.Tensor, out_shape, reduced: int) -> torch.Tensor:
    """NormParams: sizes and strides of the input and of the output with the reduced dimensions kept as ones."""

    arrays = [*padded(x.shape), *padded(x.stride()), *padded(out_shape), *padded(strides_of(out_shape))]
    return packed(f"fII{4 * DIMS}I", p, reduced, x.dim(), *arrays)


# What each sum adds up.
ADDENDS = {
    "sum": widest,
    "nansum": lambda x: widest(x).nan_to_num(nan=0.0, posinf=float("inf"), neginf=float("-inf")),
    "count_nonzero": lambda x: (flushed(x) != 0).long(),
    "norm_l1": lambda x: widest(x).abs(),
    "norm_l2": lambda x: widest(x).square(),
}


def sum_inputs(op: str, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    x = whole(dtype, *shape)
    flat = x.flatten()
    if op == "count_nonzero":
        flat[:: max(1, flat.numel() // 20)] = hard(dtype, flat.numel())[: len(flat[:: max(1, flat.numel() // 20)])]
    elif dtype.is_floating_point:
        flat[-3] = float("nan")
        flat[flat.numel() // 2] = float("inf")
    return flat.view(shape)


def summed(op: str, x: torch.Tensor, dims, target: torch.dtype, divisor: float = 0.0) -> torch.Tensor:
    total = ADDENDS[op](x).sum(dims, keepdim=True)
    if op == "norm_l2":
        total = total.sqrt()
    if divisor:
        # The sum is exact as a float, and the division is of floats; of a complex sum, of its parts.
        parts = torch.view_as_real(total) if total.is_complex() else total
        parts = parts.float() / divisor
        total = torch.view_as_complex(parts) if total.is_complex() else parts
    return total.to(target)


def divisors(op: str, target: torch.dtype) -> tuple[float, ...]:
    return (0.0, 7.0) if op == "sum" and (target.is_floating_point or target.is_complex) else (0.0,)


SUM = r"(?P<op>sum|nansum|count_nonzero)"


@checks(rf"{SUM}_reduction_{TYPES}")
def sum_any(kernel, match):
    source, target = DTYPES[match["source"]], DTYPES[match["target"]]
    for dims in ((1,), (0, 2), (0, 1, 2), (0,)):
        for divisor in divisors(match["op"], target):
            x = sum_inputs(match["op"], source, 5, 70, 9)
            out_shape = [1 if i in dims else n for i, n in enumerate(x.shape)]
            out = blank(target, *out_shape)
            reduced = x.numel() // out.numel()
            group = min(MOST_THREADS, round_up(reduced, SIMD))
            kernel(
                *(x.to("mps"), out, params(divisor, x, out_shape, reduced)),
                threads=out.numel() * group,
                group_size=group,
            )
            yield Check(f"over {dims} by {divisor}", out, summed(match["op"], x, dims, target, divisor))


@checks(rf"{SUM}_reduction_strided_{TYPES}")
def sum_strided(kernel, match):
    source, target = DTYPES[match["source"]], DTYPES[match["target"]]
    groups = 6
    x = sum_inputs(match["op"], source, 70, 9, 5).permute(2, 0, 1)
    each = x.numel() // groups
    group = min(MOST_THREADS, round_up(each, SIMD))
    out = blank(target, groups)
    storage = x.permute(1, 2, 0).contiguous()
    kernel(
        *(storage.to("mps"), out, params(0.0, x, (0, 0, 0), each)),
        threads=groups * group,
        group_size=group,
    )
    yield Check("slices", out, summed(match["op"], x.reshape(groups, each), -1, target).squeeze(-1))


def launch_outer(kernel, x, out, *more) -> None:
    rows, columns = x.shape
    kernel(
        *(x.to("mps"), out, packed("III", rows, columns, 1), *more),
        threads=(round_up(columns, SIMD), SIMD, 1),
        group_size=(SIMD, SIMD, 1),
    )


def launch_inner(kernel, x, out, *more) -> None:
    rows, columns = x.shape
    group = 256
    kernel(
        *(x.to("mps"), out, packed("II", rows, columns), *more),
        threads=ceil_div(rows, group // SIMD) * group,
        group_size=group,
    )


LAUNCH = {"outer": (launch_outer, 0), "inner": (launch_inner, 1)}
SHAPES = ((1, 2), (45, 70), (300, 33), (3, 600))


@checks(rf"(?P<op>sum|nansum|count_nonzero|norm_l1|norm_l2)_reduction_(?P<form>outer|inner)_{TYPES}", before="2.14")
def sum_of_matrix(kernel, match):
    source, target = DTYPES[match["source"]], DTYPES[match["target"]]
    launch, dim = LAUNCH[match["form"]]
    for shape in SHAPES:
        for divisor in divisors(match["op"], target):
            x = whole(source, *shape) if shape == (1, 2) else sum_inputs(match["op"], source, *shape)
            out = blank(target, shape[1 - dim])
            launch(kernel, x, out, divisor)
            expected = summed(match["op"], x, dim, target, divisor).squeeze(dim)
            yield Check(f"{shape} by {divisor}", out, expected)


def extremes_inputs(dtype: torch.dtype, rows: int, columns: int) -> torch.Tensor:
    """Rows with NaNs, with infinities, of one infinity, of ends of integers; zeros of one sign, whose order is open."""
    x = ordinary(dtype, rows, columns)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        x[0, columns // 2], x[0, columns // 3] = info.min, info.max
        x[1:2] = info.min
        x[2:3] = info.max
        return x
    x[0, columns // 2 :: 7] = float("nan")
    x[1:2, columns // 3 :: 9] = float("inf")
    x[2:3, columns // 3 :: 9] = float("-inf")
    x[3:4] = float("inf")
    x[4:5] = float("-inf")
    return x


EXTREMES = {
    "max": lambda x, dim: x.amax(dim),
    "min": lambda x, dim: x.amin(dim),
    "argmax": lambda x, dim: x.argmax(dim),
    "argmin": lambda x, dim: x.argmin(dim),
    "any": lambda x, dim: (flushed(x) != 0).any(dim).byte(),
    "all": lambda x, dim: (flushed(x) != 0).all(dim).byte(),
}
EXTREME = r"(?P<op>max|min|any|all|argmax|argmin)"


def rows_for(op: str, dtype: torch.dtype, rows: int, columns: int) -> torch.Tensor:
    if op not in ("any", "all"):
        return extremes_inputs(dtype, rows, columns)
    # All the same but for one element, of each kind.
    x = torch.full((rows, columns), op == "all").to(dtype)
    places = torch.randint(0, columns, (rows,))
    x[torch.arange(rows), places] = hard(dtype, max(rows, 20))[:rows] if op == "any" else torch.zeros(1).to(dtype)
    x[rows - 1] = op == "all"
    return x


@checks(rf"{EXTREME}_reduction_(?P<form>outer|inner)_{TYPES}", before="2.14")
def extreme_of_matrix(kernel, match):
    source, target = DTYPES[match["source"]], DTYPES[match["target"]]
    launch, dim = LAUNCH[match["form"]]
    for count, reduced in ((1, 2), (45, 70), (33, 300), (5, 1)):
        x = rows_for(match["op"], source, count, reduced)
        x = x.t().contiguous() if dim == 0 else x
        out = blank(target, count)
        launch(kernel, x, out)
        yield Check(f"{count} of {reduced}", out, EXTREMES[match["op"]](x, dim).to(target))


@checks(rf"{EXTREME}_reduction_{TYPES}")
def extreme_any(kernel, match):
    source, target = DTYPES[match["source"]], DTYPES[match["target"]]
    # Extremes of long go by shuffles, and between 32 and 1024 threads those read lanes that are not there, which Metal
    # leaves open.
    shuffled = source == torch.int64 and match["op"] in ("max", "min")
    for count, reduced in ((30, 20 if shuffled else 70), (1, 2500), (6, 1)):
        x = rows_for(match["op"], source, count, reduced)
        group = min(MOST_THREADS, round_up(reduced, SIMD))
        for turned in (x, x.t().contiguous().t()):
            out = blank(target, count)
            storage = turned if turned.is_contiguous() else turned.t()
            kernel(
                *(storage.to("mps"), out, params(0.0, turned, (count, 1), reduced)),
                threads=count * group,
                group_size=group,
            )
            yield Check(f"{count} of {reduced}", out, EXTREMES[match["op"]](x, 1).to(target))
    if not match["op"].startswith("arg"):
        reduced = 20 if shuffled else 700
        group = round_up(reduced, SIMD)
        x = rows_for(match["op"], source, 2, reduced).view(2, -1, 20).transpose(0, 1).contiguous()
        out = blank(target, 2)
        kernel(x.to("mps"), out, params(0.0, x, (1, 2, 1), reduced), threads=2 * group, group_size=group)
        rows = x.transpose(0, 1).reshape(2, reduced)
        yield Check("over two dimensions", out, EXTREMES[match["op"]](rows, 1).to(target))


def norm(x: torch.Tensor, p: float) -> torch.Tensor:
    if p == 0:
        return (x != 0).sum(1).double()
    return torch.linalg.vector_norm(x.abs().double(), p, 1)


@checks(rf"norm_{TYPES}")
def norm_any(kernel, match):
    source, target = DTYPES[match["source"]], DTYPES[match["target"]]
    # As the host does, the group is of as many threads as elements: simdgroups may be partial.
    for count, reduced in ((3, 1), (4, 45), (2, 1500)):
        for p in (2.0, 1.0, 0.0, float("inf"), float("-inf"), 3.0, -0.5):
            x = whole(source, count, reduced) if p >= 0 or p == float("-inf") else ordinary(source, count, reduced)
            if x.is_floating_point() and p > 0:
                x[0, reduced // 2] = float("-inf")
            out = blank(target, count, 1)
            group = min(MOST_THREADS, reduced)
            kernel(x.to("mps"), out, params(p, x, (count, 1), reduced), threads=count * group, group_size=group)
            # Exact but for pow (16 ulp each way) and for the modulus of a complex number (hypot).
            exact = p in (0.0, float("inf"), float("-inf"), 1.0, 2.0) and not source.is_complex
            rtol = 0.0 if exact else 64 * 2.0**-24 + 2 * HALF_STEP[target]
            yield Check(f"{count} of {reduced}, p {p}", out.cpu().squeeze(1), norm(x, p).to(target), rtol=rtol)
