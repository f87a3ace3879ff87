"""ReduceOps.metal from 2.14 on: reductions of a tensor that is seen as [outer, reduced, inner], whole or by segments.

A kernel that gets segments leaves one partial result for each of them. Inputs and what they must give are reduce.py's.
"""

import dataclasses
from collections.abc import Callable, Iterator

import torch
from harness import Check, checks, is_since
from inputs import DTYPES, factors, ordinary, whole
from launch import blank, ceil_div, round_up, widest
from packing import HALF_STEP, packed

from families.reduce import EXTREMES, MOST_THREADS, SIMD, TYPE, params, rows_for, sum_inputs, summed

FLOAT3 = "float3"
GROUP = 256
NARROW_GROUP = 256
SUMS = ("sum", "nansum", "count_nonzero", "norm_l1", "norm_l2")
SINCE_2_15 = ("prod", "norm_l0", "norm_inf", "norm_neginf", "norm_l2_combine", "var", "std")
OP = rf"(?P<op>{'|'.join([*SUMS, *EXTREMES, *SINCE_2_15])})"
TYPES = rf"(?P<source>{TYPE}|{FLOAT3})_(?P<target>{TYPE}|{FLOAT3})"


@dataclasses.dataclass(frozen=True)
class Reduction:
    """`rows` makes an input of so many rows and columns, `of_rows` reduces each row, with the kernel's parameter."""

    rows: Callable[[int, int], torch.Tensor]
    of_rows: Callable[[torch.Tensor, float], torch.Tensor]
    parameters: tuple[float, ...] = (0.0,)
    rtol: float = 0.0
    atol: float = 0.0


def reduction_of(match) -> Reduction:
    op = match["op"]
    if op in ("var", "std"):
        return variance(op, match["source"], match["target"])
    source, target = DTYPES[match["source"]], DTYPES[match["target"]]
    if op in EXTREMES:
        return Reduction(
            lambda count, reduced: rows_for(op, source, count, reduced),
            lambda x, _: EXTREMES[op](x, 1).to(target),
        )
    if op == "prod":
        close = 1e-6 if source.is_complex else 0.0  # zeros of either sign
        return Reduction(
            lambda *shape: exact_factors(source, *shape), lambda x, _: widest(x).prod(1).to(target), (0.0,), close
        )
    if op in ("norm_inf", "norm_neginf"):
        extreme = torch.amax if op == "norm_inf" else torch.amin
        return Reduction(
            lambda count, reduced: rows_for("max", source, count, reduced),
            lambda x, _: extreme(x.abs().double(), 1).to(target),
        )
    if op.startswith("norm_l2") and is_since("2.15"):
        return norm_of_squares(op, source, target)
    name = "count_nonzero" if op == "norm_l0" else op
    averages = op == "sum" and (target.is_floating_point or target.is_complex)
    return Reduction(
        lambda *shape: sum_rows(name, source, *shape),
        lambda x, divisor: summed(name, x, 1, target, divisor).squeeze(1),
        (0.0, 7.0) if averages else (0.0,),
    )


def norm_of_squares(op: str, source: torch.dtype, target: torch.dtype) -> Reduction:
    """The root is taken where the parameter says so: not of a part."""

    def rows(count: int, reduced: int) -> torch.Tensor:
        x = sum_rows("sum", source, count, reduced)
        return x.abs() if op == "norm_l2_combine" else x

    def of_rows(x: torch.Tensor, parameter: float) -> torch.Tensor:
        total = (x.double().square() if op == "norm_l2" else x.double()).sum(1)
        return (total.sqrt() if parameter > 0 else total).to(target)

    return Reduction(rows, of_rows, (0.0, 1.0))


def sum_rows(op: str, dtype: torch.dtype, count: int, reduced: int) -> torch.Tensor:
    return sum_inputs(op, dtype, count, reduced) if reduced > 8 else whole(dtype, count, reduced)


def exact_factors(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Whose product is exact in any order."""
    if dtype.is_complex:  # but few of them: no part of their product is a zero, whose sign depends on the order
        x = torch.ones(shape, dtype=torch.complex64)
        x[:, : min(5, shape[1])] = torch.tensor([1 + 2j, 2 - 1j, -1 + 1j])[
            torch.randint(0, 3, (shape[0], min(5, shape[1])))
        ]
        return x[:, torch.randperm(shape[1])].to(dtype)
    if dtype == torch.bool:
        return torch.rand(shape) < 0.999
    return factors(dtype, *shape)


def variance(op: str, source: str, target: str) -> Reduction:
    """Of numbers or of what is known of some of them: mean, sum of squared differences from it, and how many."""

    def rows(count: int, reduced: int) -> torch.Tensor:
        if source != FLOAT3:
            return ordinary(DTYPES[source], count, reduced)
        return torch.stack(
            [
                torch.randn(count, reduced),
                torch.rand(count, reduced) * 9,
                torch.full((count, reduced), 5.0),
                torch.zeros(count, reduced),
            ],
            -1,
        )

    def of_rows(x: torch.Tensor, correction: float) -> torch.Tensor:
        if source == FLOAT3:
            means, squares, sizes = x[..., 0].double(), x[..., 1].double(), x[..., 2].double()
        else:
            means, squares, sizes = x.double(), torch.zeros_like(x.double()), torch.ones_like(x.double())
        size = sizes.sum(1)
        mean = (means * sizes).sum(1) / size
        spread = squares.sum(1) + (sizes * (means - mean[:, None]).square()).sum(1)
        if target == FLOAT3:
            return torch.stack([mean, spread, size], 1).float()
        result = spread / (size - correction).clamp(min=0)
        return (result.sqrt() if op == "std" else result).to(DTYPES[target])

    wanted = torch.float32 if target == FLOAT3 else DTYPES[target]
    return Reduction(rows, of_rows, (0.0,) if target == FLOAT3 else (0.0, 1.0), 2e-5 + 2 * HALF_STEP[wanted], 2e-5)


def parameter_of(op: str, value: float) -> list[float]:
    """Before 2.15 the sums alone have one."""
    return [value] if is_since("2.15") or op in SUMS else []


def output(match, count: int) -> torch.Tensor:
    return blank(torch.float32, count, 4) if match["target"] == FLOAT3 else blank(DTYPES[match["target"]], count)


def compared(what: str, match, reduction: Reduction, out: torch.Tensor, expected: torch.Tensor) -> Check:
    # The fourth number of a vector of three is padding.
    got = out.cpu()[:, :3] if match["target"] == FLOAT3 else out
    return Check(what, got, expected, rtol=reduction.rtol, atol=reduction.atol)


def as_blocks(x: torch.Tensor, outer: int, inner: int) -> torch.Tensor:
    """Rows as [outer, reduced, inner, ...], contiguous."""
    return x.view(outer, inner, *x.shape[1:]).transpose(1, 2).contiguous()


def by_segments(x: torch.Tensor, segments: int) -> list[torch.Tensor]:
    return list(x.split(ceil_div(x.size(1), segments), 1))


# outer, reduced, inner, segments
COLUMNS = ((1, 45, 70, 1), (3, 70, 33, 1), (1, 300, 5, 1), (1, 600, 3, 4), (2, 5, 9, 1))


@checks(rf"{OP}_reduction_(?P<form>outer|outer_small_dim|narrow|narrow_strided)_{TYPES}", since="2.14")
def columns(kernel, match) -> Iterator[Check]:
    op, form = match["op"], match["form"]
    reduction = reduction_of(match)
    if op.startswith("arg"):
        yield from argument_of_columns(kernel, match)
        return
    height = 32 if form == "outer" else 1
    for outer, dim, inner, segments in COLUMNS:
        if form.startswith("narrow") and inner >= SIMD:
            continue
        x = reduction.rows(outer * inner, dim)
        for parameter in reduction.parameters:
            blocks = as_blocks(x, outer, inner)
            strides = [dim * inner, inner, 1]
            if form in ("outer", "narrow_strided"):
                blocks = torch.cat([blocks, blocks[:, :, :1]], 2).contiguous()  # a column that is not in it
                strides = [dim * (inner + 1), inner + 1, 1]
            out = output(match, segments * outer * inner)
            sizes = packed("4I", dim, inner, *((segments, 0) if is_since("2.15") else (1, segments)))
            of_dimensions = packed("4I", strides[1], strides[2], strides[0], 0)
            active = (NARROW_GROUP // inner) * inner
            narrow = form.startswith("narrow")
            more = parameter_of(op, parameter) + ([] if form == "narrow" else [of_dimensions])
            kernel(
                *(blocks.to("mps"), out, sizes, *more),
                threads=(active if narrow else round_up(inner, SIMD), segments * (1 if narrow else height), outer),
                group_size=(active, 1, 1) if narrow else (SIMD, height, 1),
            )
            expected = torch.cat([reduction.of_rows(part, parameter) for part in by_segments(x, segments)])
            yield compared(f"{(outer, dim, inner)} in {segments}, {parameter}", match, reduction, out, expected)


def argument_of_columns(kernel, match) -> Iterator[Check]:
    for outer, dim, inner, segments in COLUMNS:
        if segments > 1:
            continue
        x = rows_for(match["op"], DTYPES[match["source"]], outer * inner, dim)
        out = blank(torch.int64, outer * inner)
        unused = torch.zeros(1, device="mps")
        strides = packed("4I", inner, 1, dim * inner, 0)
        kernel(
            *(as_blocks(x, outer, inner).to("mps"), out, packed("4I", dim, inner, 1, 0), strides, unused, unused),
            threads=(round_up(inner, SIMD), SIMD, outer),
            group_size=(SIMD, SIMD, 1),
        )
        yield Check(f"{(outer, dim, inner)}", out, EXTREMES[match["op"]](x, 1))


@checks(rf"{OP}_reduction_(?P<form>inner|innermost)_{TYPES}", since="2.14")
def rows(kernel, match) -> Iterator[Check]:
    op, reduction = match["op"], reduction_of(match)
    for count, reduced in ((1, 2), (70, 45), (33, 300), (600, 3), (5, 1)):
        x = reduction.rows(count, reduced)
        for parameter in reduction.parameters:
            out = output(match, count)
            if op.startswith("arg"):
                unused = torch.zeros(1, device="mps")
                more = [packed("4I", count, reduced, 0, 0), unused, unused, unused]
            else:
                more = [packed("II", count, reduced), *parameter_of(op, parameter)]
            kernel(x.to("mps"), out, *more, threads=ceil_div(count, GROUP // SIMD) * GROUP, group_size=GROUP)
            expected = reduction.of_rows(x, parameter)
            yield compared(f"{count} of {reduced}, {parameter}", match, reduction, out, expected)


@checks(rf"{OP}_reduction_(?:inner|innermost)_chunk_{TYPES}", since="2.14")
def rows_by_lanes(kernel, match) -> Iterator[Check]:
    """Several rows in a simdgroup, or several segments of a row."""
    op, reduction = match["op"], reduction_of(match)
    for count, reduced, lanes, segments in (
        (70, 45, 4, 1),
        (33, 300, 32, 1),
        (90, 16, 1, 1),
        (90, 20, 2, 1),
        (3, 300, 32, 5),
    ):
        x = reduction.rows(count, reduced)
        for parameter in reduction.parameters:
            out = output(match, count * segments)
            simdgroups = ceil_div(count * segments, SIMD // lanes)
            kernel(
                *(x.to("mps"), out, packed("4I", count, reduced, lanes, segments), *parameter_of(op, parameter)),
                threads=ceil_div(simdgroups, GROUP // SIMD) * GROUP,
                group_size=GROUP,
            )
            parts = [reduction.of_rows(part, parameter) for part in by_segments(x, segments)]
            expected = torch.stack(parts, 1).flatten(0, 1)
            yield compared(f"{count} of {reduced} by {lanes}, {parameter}", match, reduction, out, expected)


@checks(rf"{OP}_reduction_flat_{TYPES}", since="2.14")
def slices(kernel, match) -> Iterator[Check]:
    reduction = reduction_of(match)
    for groups, each in ((6, 700), (3, 2500), (2, 3)):
        x = reduction.rows(groups, each)
        out = output(match, groups)
        kernel(x.to("mps"), out, packed("II", groups, each), threads=groups * GROUP, group_size=GROUP)
        yield compared(f"{groups} of {each}", match, reduction, out, reduction.of_rows(x, 0.0))


@checks(rf"{OP}_reduction_flat_strided_{TYPES}", since="2.15")
def slices_of_rows(kernel, match) -> Iterator[Check]:
    """Rows with gaps, each in pieces of one length; a simdgroup or more takes every so many pieces."""
    reduction = reduction_of(match)
    for count, pieces, length, groups in ((45, 1, 70, 3), (7, 4, 45, 2), (3, 2, 700, 4)):
        x = reduction.rows(count * pieces, length)
        lanes = SIMD
        while lanes < length and lanes < GROUP:
            lanes *= 2
        at_once = GROUP // lanes
        rows = x.view(count, pieces * length, *x.shape[2:])
        memory = torch.cat([rows, rows[:, :3]], 1).contiguous()
        out = output(match, groups)
        kernel(
            *(memory.to("mps"), out, packed("4I", count, length, pieces, 0)),
            packed("4I", pieces * length + 3, 1, 0, 0),
            threads=groups * GROUP,
            group_size=GROUP,
        )
        group = torch.arange(count * pieces) // at_once % groups
        parts = [x[group == i].reshape(1, -1, *x.shape[2:]) for i in range(groups)]
        expected = torch.cat([reduction.of_rows(part, 0.0) for part in parts])
        yield compared(f"{count} of {pieces} times {length}", match, reduction, out, expected)


@checks(rf"(?P<op>norm_l1|norm_l2|{'|'.join(SINCE_2_15)})_reduction_{TYPES}", since="2.15")
def any_dimensions(kernel, match) -> Iterator[Check]:
    reduction = reduction_of(match)
    for count, reduced in ((30, 70), (1, 2500), (6, 1)):
        x = reduction.rows(count, reduced)
        group = min(MOST_THREADS, round_up(reduced, SIMD))
        for parameter in reduction.parameters:
            out = output(match, count)
            shape = torch.empty(count, reduced, device="meta")
            kernel(
                *(x.to("mps"), out, params(parameter, shape, (count, 1), reduced)),
                threads=count * group,
                group_size=group,
            )
            expected = reduction.of_rows(x, parameter)
            yield compared(f"{count} of {reduced}, {parameter}", match, reduction, out, expected)


ARG = r"(?P<op>argmax|argmin)_reduction"
ARG_TYPE = rf"(?P<source>{TYPE})"


def partial_arguments(match, x: torch.Tensor, segments: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each segment of each row the extreme, and where it is in the row."""
    parts = by_segments(x, segments)
    starts = torch.arange(len(parts)) * parts[0].size(1)
    places = torch.stack([EXTREMES[match["op"]](part, 1) for part in parts], 1) + starts
    return x.gather(1, places), places.int()


@checks(rf"{ARG}_(?P<form>outer|narrow|inner|innermost)_p1_{ARG_TYPE}", since="2.14")
def partial_argument(kernel, match) -> Iterator[Check]:
    source, form = DTYPES[match["source"]], match["form"]
    for count, reduced, segments in ((9, 300, 4), (5, 64, 2), (20, 701, 3)):
        x = rows_for(match["op"], source, count, reduced)
        values, places = blank(source, count, segments), blank(torch.int32, count, segments)
        unused = torch.zeros(1, device="mps")
        turned = x.t().contiguous().to("mps")
        sizes = packed("4I", reduced, count, segments, 0)
        if form == "outer":
            strides = packed("4I", count, 1, 0, 0)
            kernel(
                *(turned, unused, sizes, strides, values, places),
                threads=(round_up(count, SIMD), segments * SIMD, 1),
                group_size=(SIMD, SIMD, 1),
            )
        elif form == "narrow":
            active = (NARROW_GROUP // count) * count
            kernel(turned, values, places, sizes, threads=(active, segments, 1), group_size=(active, 1, 1))
        else:
            sizes = packed("4I", count * segments, ceil_div(reduced, segments), segments, reduced)
            kernel(
                *(x.to("mps"), unused, sizes, unused, values, places),
                threads=ceil_div(count * segments, GROUP // SIMD) * GROUP,
                group_size=GROUP,
            )
        expected_values, expected_places = partial_arguments(match, x, segments)
        yield Check(f"values, {count} of {reduced}", values, expected_values)
        yield Check(f"places, {count} of {reduced}", places, expected_places)


@checks(rf"{ARG}_combine_{ARG_TYPE}", since="2.14")
def combined_argument(kernel, match) -> Iterator[Check]:
    source = DTYPES[match["source"]]
    for count, reduced, segments in ((9, 300, 4), (70, 64, 2), (20, 700, 50)):
        x = rows_for(match["op"], source, count, reduced)
        values, places = partial_arguments(match, x, segments)
        out, unused = blank(torch.int64, count), torch.zeros(1, device="mps")
        kernel(
            *(values.to("mps"), out, packed("4I", count, values.size(1), 0, 0), places.to("mps"), unused, unused),
            threads=ceil_div(count, GROUP // SIMD) * GROUP,
            group_size=GROUP,
        )
        yield Check(f"{count} of {segments}", out, EXTREMES[match["op"]](x, 1))
