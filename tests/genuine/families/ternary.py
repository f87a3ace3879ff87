"""Elementwise operators of three operands: clamp in all forms of exec_ternary_kernel, lerp in its own."""

import itertools
from collections.abc import Iterator

from cases import Case
from harness import Check, checks
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
    uints,
)
from operands import calm, operands
from operators import TERNARY


@checks(rf"clamp_(?P<form>dense|strided)_(?P<out>{TYPE})_(?P<type>{TYPE})")
def clamp(kernel, match) -> Iterator[Check]:
    dtype = DTYPES[match["type"]]
    yield from ternary(kernel, match["form"], Case(TERNARY["clamp"], dtype), [dtype] * 3)


@checks(rf"clamp_(?P<form>dense|strided)_cast_(?P<type>{TYPE})")
def clamp_cast(kernel, match) -> Iterator[Check]:
    dtype = DTYPES[match["type"]]
    for position, other in enumerate(itertools.islice(itertools.cycle(PROMOTED[match["type"]]), 3)):
        dtypes = [dtype] * 3
        dtypes[position] = DTYPES[other]
        yield from ternary(kernel, match["form"], Case(calm(TERNARY["clamp"]), dtype), dtypes, reads_types=True)


def ternary(kernel, form: str, case: Case, dtypes, reads_types: bool = False) -> Iterator[Check]:
    values = operands(case.operator, dtypes, COUNT)
    if reads_types:
        values = [value.to(case.natural).to(dtype) for value, dtype in zip(values, dtypes, strict=True)]
    output = Output(case.natural, COUNT, form == "strided")
    types = [SCALAR_TYPES[dtype] for dtype in dtypes]
    if form == "strided":
        after = [uints(len(DIMENSIONS)), *([uints(*types, SCALAR_TYPES[case.natural])] if reads_types else [])]
        launch_strided(kernel, output, values, after=after)
    else:
        more = [uints(*(dtype.itemsize for dtype in dtypes)), uints(*types)] if reads_types else []
        launch(kernel, output.bytes, *map(device_bytes, values), *more, threads=COUNT)
    yield case.check(form, output, [value.to(case.natural) for value in values])


@checks(rf"lerp_tensor_(?P<form>dense|strided|strided_[23]d|scalar_weight)_(?P<type>{TYPE})")
def lerp_tensor(kernel, match) -> Iterator[Check]:
    dtype, form = DTYPES[match["type"]], match["form"]
    case = Case(TERNARY["lerp_tensor"], dtype)
    values = operands(case.operator, [dtype] * 3, COUNT)
    output = Output(dtype, COUNT, form.startswith("strided"))
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
