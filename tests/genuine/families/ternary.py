"""Elementwise operators of three operands, in all forms of exec_ternary_kernel; lerp_tensor in its own."""

import itertools
from collections.abc import Iterator

import torch
from cases import Case
from harness import Check, checks, is_since
from inputs import DTYPES
from launches import (
    COUNT,
    DIMENSIONS,
    PROMOTED,
    SCALAR_TYPES,
    TYPE,
    Output,
    Strided,
    device_bytes,
    launch,
    launch_strided,
    layouts_of,
    parameters,
    rounded,
    uints,
)
from operands import calm, draw, operands
from operators import TERNARY, UNARY


@checks(rf"(?P<operator>clamp|lerp)_(?P<form>dense|strided)_(?P<out>{TYPE})_(?P<type>{TYPE})")
def same_types(kernel, match) -> Iterator[Check]:
    dtype = DTYPES[match["type"]]
    yield from ternary(kernel, match["form"], Case(TERNARY[match["operator"]], dtype), [dtype] * 3)


@checks(rf"(?P<operator>clamp|lerp)_(?P<form>dense|strided)_cast_(?P<type>{TYPE})")
def other_types(kernel, match) -> Iterator[Check]:
    case = Case(calm(TERNARY[match["operator"]]), DTYPES[match["type"]])
    for dtypes in with_other_types(match["type"]):
        yield from ternary(kernel, match["form"], case, dtypes, reads_types=True)


def alphas_of(match) -> Iterator[tuple[object, Case]]:
    for value in TERNARY[match["operator"]].scalars:
        alpha = rounded(value, match["alpha"])
        yield parameters(alpha[0], match["alpha"]), Case(TERNARY[match["operator"]], DTYPES[match["type"]], alpha)


@checks(rf"(?P<operator>addcmul|addcdiv)_(?P<form>dense|strided)_(?P<out>{TYPE})_(?P<type>{TYPE})_(?P<alpha>{TYPE})")
def alpha(kernel, match) -> Iterator[Check]:
    for alpha, case in alphas_of(match):
        yield from ternary(kernel, match["form"], case, [case.natural] * 3, alpha=alpha)


@checks(rf"(?P<operator>addcmul|addcdiv)_(?P<form>dense|strided)_cast_(?P<type>{TYPE})_(?P<alpha>{TYPE})")
def alpha_with_other_types(kernel, match) -> Iterator[Check]:
    for alpha, case in alphas_of(match):
        for dtypes in with_other_types(match["type"]):
            yield from ternary(kernel, match["form"], case, dtypes, reads_types=True, alpha=alpha)


def with_other_types(name: str) -> Iterator[list[torch.dtype]]:
    """Of three operands one is of another type, each in its turn."""
    for position, other in enumerate(itertools.islice(itertools.cycle(PROMOTED[name]), 3)):
        dtypes = [DTYPES[name]] * 3
        dtypes[position] = DTYPES[other]
        yield dtypes


def ternary(kernel, form: str, case: Case, dtypes, reads_types: bool = False, alpha=None) -> Iterator[Check]:
    values = operands(case.operator, dtypes, COUNT)
    if reads_types:
        values = [value.to(case.natural).to(dtype) for value, dtype in zip(values, dtypes, strict=True)]
    output = Output(case.natural, COUNT, layouts_of(form))
    types = [SCALAR_TYPES[dtype] for dtype in [*dtypes, case.natural]]
    sizes = [dtype.itemsize for dtype in [*dtypes, case.natural]]
    alphas = [] if alpha is None else [alpha]
    if form == "strided":
        after = [uints(len(DIMENSIONS)), *([uints(*types)] if reads_types else [])]
        # From 2.15 on the grid has the first dimensions.
        threads = DIMENSIONS if is_since("2.15") else COUNT
        launch_strided(kernel, output, values, before=alphas, after=after, threads=threads)
    else:
        more = [uints(*sizes), uints(*types)] if reads_types else []
        launch(kernel, output.bytes, *map(device_bytes, values), *alphas, *more, threads=COUNT)
    yield case.check(form, output, [value.to(case.natural) for value in values])


@checks(rf"where_(?P<form>dense|strided)_(?P<type>{TYPE})_bool")
def where(kernel, match) -> Iterator[Check]:
    dtype = DTYPES[match["type"]]
    chosen = torch.rand(COUNT) < 0.5
    identity = UNARY["copy_identity"]
    values = [operands(identity, [dtype], COUNT)[0], draw(identity, 0, dtype, COUNT)]
    output = Output(dtype, COUNT, layouts_of(match["form"]))
    if match["form"] == "strided":
        launch_strided(kernel, output, [chosen, *values], after=[uints(len(DIMENSIONS))], threads=DIMENSIONS)
    else:
        launch(kernel, output.bytes, *map(device_bytes, [chosen, *values]), threads=COUNT)
    as_bytes = [value.view(torch.uint8).view(COUNT, -1) for value in values]
    expected = torch.where(chosen[:, None], *as_bytes).flatten().view(dtype)
    yield Case(identity, dtype).check(match["form"], output, [expected])


@checks(rf"lerp_tensor_(?P<form>dense|strided|strided_[23]d|scalar_weight)_(?P<type>{TYPE})")
def lerp_tensor(kernel, match) -> Iterator[Check]:
    dtype, form = DTYPES[match["type"]], match["form"]
    case = Case(TERNARY["lerp_tensor"], dtype)
    values = operands(case.operator, [dtype] * 3, COUNT)
    output = Output(dtype, COUNT, layouts_of(form))
    if form == "strided":
        launch_strided(kernel, output, values, after=[uints(len(DIMENSIONS))])
    elif form.startswith("strided"):
        lerp_by_dimensions(kernel, output, values, int(form[-2]))
    elif form == "scalar_weight":
        launch(kernel, output.bytes, *map(device_bytes, [*values[:2], values[2][:1]]), threads=COUNT)
        values[2] = values[2][:1].expand(COUNT)
    else:
        launch(kernel, output.bytes, *map(device_bytes, values), threads=COUNT)
    yield case.check(form, output, values)


def lerp_by_dimensions(kernel, output: Output, values, dimensions: int) -> None:
    """Strides alone: the grid has the dimensions. With two of them a launch does one plane."""
    layouts = [Strided(value.dtype, i + 1) for i, value in enumerate(values)]
    buffers = [device_bytes(layout.holding(value)) for layout, value in zip(layouts, values, strict=True)]
    strides = [output.byte_strides, *(layout.byte_strides for layout in layouts)]
    if dimensions == 3:
        launch(kernel, output.bytes, *buffers, *strides, threads=DIMENSIONS)
        return
    for plane in range(DIMENSIONS[2]):
        moved = [buffer[plane * stride[2] :] for buffer, stride in zip([output.bytes, *buffers], strides, strict=True)]
        launch(kernel, *moved, *(stride[:2] for stride in strides), threads=DIMENSIONS[:2])
