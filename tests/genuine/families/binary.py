"""Elementwise operators of two operands, in all forms of exec_binary_kernel."""

import itertools
from collections.abc import Iterator

import torch
from cases import Case
from harness import Check, checks, is_since
from inputs import DTYPES
from launches import (
    COUNT,
    DIMENSIONS,
    LAYOUTS,
    PARAMETERS,
    PROMOTED,
    SCALAR_TYPES,
    TYPE,
    Output,
    device_bytes,
    launch,
    launch_rows,
    launch_strided,
    layouts_of,
    parameters,
    rounded,
    threads_of,
    uints,
)
from operands import calm, divisible, draw, hard_values, operands
from operators import BINARY, BINARY_ALPHA, Operator

BROADCAST = 7  # elements of the smaller operand
BINARY_FORM = (
    "dense|dense_ilp4|strided|inner_contiguous|dense_scalar|dense_scalar_lhs|dense_broadcast|dense_broadcast_rhs"
)


def with_a_small_one(operator: Operator, form: str, dtypes) -> Iterator[tuple[list, list]]:
    """Operands of which one is small: as they are stored, and repeated as the kernel repeats them."""
    small = 0 if form.endswith(("lhs", "rhs")) else 1
    size = 1 if "scalar" in form else BROADCAST
    large = draw(operator, 1 - small, dtypes[1 - small], COUNT)
    hard = hard_values(operator, 1 - small, dtypes[1 - small])
    large[: len(hard)] = hard
    few = [draw(operator, small, dtypes[small], size)]
    few += [part for part in hard_values(operator, small, dtypes[small]).split(size) if len(part) == size][:3]
    for part in few:
        stored, repeated = [large, large], [large, large]
        stored[small], repeated[small] = part, part[torch.arange(COUNT) % size]
        yield stored, repeated


def launches_of(operator: Operator, form: str, dtypes) -> Iterator[tuple[list, list]]:
    if "scalar" in form or "broadcast" in form:
        yield from with_a_small_one(operator, form, dtypes)
        return
    for count in (COUNT,) if layouts_of(form) else (COUNT, 1):
        values = operands(operator, dtypes, count)
        yield values, values


def run_binary(kernel, form: str, output: Output, stored, *, alpha=None, reads_types: bool = False) -> None:
    alphas = [] if alpha is None else [alpha]
    numbers = [SCALAR_TYPES[value.dtype] for value in stored]
    if form.startswith("strided"):
        after = [uints(len(DIMENSIONS), *numbers, SCALAR_TYPES[output.dtype])]
        launch_strided(kernel, output, stored, before=alphas, after=after)
        return
    if form == "inner_contiguous":
        launch_rows(kernel, output, stored)
        return
    arguments = [output.bytes, *map(device_bytes, stored)]
    if "broadcast" in form:
        arguments.append([BROADCAST])
    arguments += alphas
    count = max(len(value) for value in stored)
    if "ilp" in form:
        arguments.append(uints(count))
    if reads_types:
        arguments.append(uints(*(value.dtype.itemsize for value in stored), *numbers))
    launch(kernel, *arguments, threads=threads_of(count, form))


def operator_of(table, name: str) -> Operator:
    newer = table.get(f"{name} since 2.15")
    return newer if newer and is_since("2.15") else table[name]


def binary_cases(table, match) -> Iterator[tuple[object, Case]]:
    operator, out = operator_of(table, match["operator"]), DTYPES[match["out"]]
    alpha_type = match.groupdict().get("alpha")
    for value in operator.scalars or (None,):
        if value is None:
            yield None, Case(operator, out)
        else:
            yield parameters(value, alpha_type), Case(operator, out, rounded(value, alpha_type))


def same_types(table, kernel, match) -> Iterator[Check]:
    dtype = DTYPES[match["type"]]
    for alpha, case in binary_cases(table, match):
        for stored, values in launches_of(case.operator, match["form"], [dtype, dtype]):
            count = max(map(len, stored))
            output = Output(case.natural, count, layouts_of(match["form"]))
            run_binary(kernel, match["form"], output, stored, alpha=alpha)
            yield case.check(f"{count} elements, {case.alphas}", output, values)


def other_types(table, kernel, match) -> Iterator[Check]:
    """Of the two operands one is read as another type, and then the other."""
    for alpha, case in binary_cases(table, match):
        for position, other in enumerate(itertools.islice(itertools.cycle(PROMOTED[match["type"]]), 2)):
            dtypes = [DTYPES[match["type"]]] * 2
            dtypes[position] = DTYPES[other]
            for stored, _ in launches_of(calm(case.operator), match["form"], [DTYPES[match["type"]]] * 2):
                yield from other_type(kernel, match, case, alpha, stored, dtypes, other)


def other_type(kernel, match, case, alpha, stored, dtypes, other) -> Iterator[Check]:
    wanted, form = DTYPES[match["type"]], match["form"]
    stored = [value.to(dtype).to(wanted).to(dtype) for value, dtype in zip(stored, dtypes, strict=True)]
    stored = [divisible(case.operator, i, value) for i, value in enumerate(stored)]
    count = max(map(len, stored))
    output = Output(case.natural, count, layouts_of(form))
    run_binary(kernel, form, output, stored, alpha=alpha, reads_types=True)
    values = [value.to(wanted)[torch.arange(count) % len(value)] for value in stored]
    yield case.check(f"with {other}, {case.alphas}", output, values)


@checks(rf"(?P<operator>{'|'.join(BINARY)})_(?P<form>{BINARY_FORM})_(?P<out>{TYPE})_(?P<type>{TYPE})")
def binary(kernel, match) -> Iterator[Check]:
    yield from same_types(BINARY, kernel, match)


@checks(rf"(?P<operator>{'|'.join(BINARY)})_(?P<form>{BINARY_FORM})_cast_(?P<out>{TYPE})_(?P<type>{TYPE})")
def binary_cast(kernel, match) -> Iterator[Check]:
    yield from other_types(BINARY, kernel, match)


ALPHA_FORM = (
    rf"(?P<operator>{'|'.join(BINARY_ALPHA)})_(?P<form>{BINARY_FORM})%s_(?P<out>{TYPE})_(?P<type>{TYPE})"
    rf"_(?P<alpha>{PARAMETERS})"
)


@checks(ALPHA_FORM % "")
def binary_alpha(kernel, match) -> Iterator[Check]:
    yield from same_types(BINARY_ALPHA, kernel, match)


@checks(ALPHA_FORM % "_cast")
def binary_alpha_cast(kernel, match) -> Iterator[Check]:
    yield from other_types(BINARY_ALPHA, kernel, match)


@checks(rf"(?P<operator>eq|ne|lt|le|gt|ge|logical_and|logical_or|logical_xor)_strided_castout_bool_(?P<type>{TYPE})")
def comparison_castout(kernel, match) -> Iterator[Check]:
    operator, dtype = BINARY[match["operator"]], DTYPES[match["type"]]
    for name in ("float", "uchar", "long"):
        values = operands(operator, [dtype, dtype], COUNT)
        output = Output(DTYPES[name], COUNT, LAYOUTS)
        run_binary(kernel, "strided", output, values)
        yield Case(operator, torch.bool).check(f"as {name}", output, values)
