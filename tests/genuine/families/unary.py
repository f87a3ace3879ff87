"""Elementwise operators of one operand or none, in all forms of exec_unary_kernel; fills."""

from collections.abc import Iterator

import torch
from cases import Case
from harness import Check, checks, is_since
from inputs import DTYPES
from launches import (
    COUNT,
    DIMENSIONS,
    PARAMETERS,
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
from operands import calm, is_integer, operands
from operators import UNARY, UNARY_ALPHA

# The types that a result may be stored as: torch casts no complex number to a real one, and no float to an integer.
STORED_COMPLEX, STORED_FLOAT, STORED_INTEGER = (
    ("float2", "half2"),
    ("float", "half", "bfloat", "float2"),
    ("float", "half", "long", "int"),
)


PLANES = (DIMENSIONS[0], COUNT // DIMENSIONS[0])


@checks(
    rf"(?P<operator>{'|'.join(UNARY)})_(?P<form>dense|dense_scalar|strided|inner_contiguous)_(?P<out>{TYPE})"
    rf"_(?P<type>{TYPE})"
)
def unary(kernel, match) -> Iterator[Check]:
    operator, dtype, out = UNARY[match["operator"]], DTYPES[match["type"]], DTYPES[match["out"]]
    case, layouts = Case(operator, out), layouts_of(match["form"])
    for count in (COUNT,) if layouts else (COUNT, 1):
        x = operands(operator, [dtype], count)
        output = Output(out, count, layouts)
        if match["form"] == "strided":
            launch_strided(kernel, output, x, after=[uints(len(DIMENSIONS))], threads=PLANES, output_last=True)
        elif match["form"] == "inner_contiguous":
            launch_rows(kernel, output, x, output_last=True)
        elif match["form"] == "dense":
            launch(kernel, output.bytes, device_bytes(x[0]), uints(count), threads=threads_of(count, "ilp"))
        else:
            launch(kernel, output.bytes, device_bytes(x[0]), threads=count)
        yield case.check(f"{count} elements", output, x)


@checks(
    rf"(?P<operator>{'|'.join(UNARY)})_(?P<form>dense_castout|dense_castout_ilp|strided_castout|inner_contiguous_castout)"
    rf"_(?P<type>{TYPE})"
)
def unary_castout(kernel, match) -> Iterator[Check]:
    operator, dtype, form = UNARY[match["operator"]], DTYPES[match["type"]], match["form"]
    natural = torch.float32 if is_integer(dtype) and not operator.keeps_integers else dtype
    stored = STORED_COMPLEX if natural.is_complex else STORED_INTEGER if is_integer(natural) else STORED_FLOAT
    for name in all_types() if match["operator"].startswith("copy_") else stored:
        out = DTYPES[name]
        # Results of integers that wrap may be wrapped before they become wider, or not at all.
        x = operands(calm(operator) if operator.overflows else operator, [dtype], COUNT)
        if not is_integer(natural) and is_integer(out) and out != torch.bool:
            x = [within(x[0], out)]
        output = Output(out, COUNT, layouts_of(form))
        if form == "strided_castout":
            after = [uints(len(DIMENSIONS), SCALAR_TYPES[out])]
            launch_strided(kernel, output, x, after=after, threads=PLANES, output_last=True)
        elif form == "inner_contiguous_castout":
            launch_rows(kernel, output, x, more=(out.itemsize, SCALAR_TYPES[out]), output_last=True)
        else:
            more = [COUNT] if form == "dense_castout_ilp" else []
            to = uints(out.itemsize, SCALAR_TYPES[out], *more)
            launch(kernel, output.bytes, device_bytes(x[0]), to, threads=threads_of(COUNT, form))
        yield Case(operator, natural).check(f"as {name}", output, x)


def all_types() -> list[str]:
    return [name for name in DTYPES if is_since("2.15") or name != "float8_e4m3fn"]


def within(values: torch.Tensor, integer: torch.dtype) -> torch.Tensor:
    """Without what does not fit: 32 and 64 bits saturate and keep it, of fewer Metal's specification says nothing."""
    if integer in (torch.int32, torch.int64) and not values.is_complex():
        return values
    real = torch.view_as_real(values.to(torch.complex64)) if values.is_complex() else values.float()
    info = torch.iinfo(integer)
    low = 0 if info.min == 0 else -100
    real = real.nan_to_num(nan=1.0, posinf=1.0, neginf=1.0).clamp(low, 100)
    return (torch.view_as_complex(real) if values.is_complex() else real).to(values.dtype)


@checks(
    rf"(?P<operator>{'|'.join(UNARY_ALPHA)})_(?P<form>dense|dense_ilp|strided|inner_contiguous)_(?P<out>{TYPE})"
    rf"_(?P<type>{TYPE})_(?P<alpha>{PARAMETERS})"
)
def unary_alpha(kernel, match) -> Iterator[Check]:
    operator, dtype, out = UNARY_ALPHA[match["operator"]], DTYPES[match["type"]], DTYPES[match["out"]]
    for value in operator.scalars:
        alpha = parameters(value, match["alpha"])
        x = operands(operator, [dtype], COUNT)
        output = Output(out, COUNT, layouts_of(match["form"]))
        if match["form"] == "strided":
            after = [uints(len(DIMENSIONS)), alpha]
            launch_strided(kernel, output, x, after=after, threads=PLANES, output_last=True)
        elif match["form"] == "inner_contiguous":
            launch_rows(kernel, output, x, after=[alpha], output_last=True)
        else:
            more = [uints(COUNT)] if match["form"] == "dense_ilp" else []
            threads = threads_of(COUNT, match["form"])
            launch(kernel, output.bytes, device_bytes(x[0]), alpha, *more, threads=threads)
        yield Case(operator, out, rounded(value, match["alpha"])).check(f"with {value}", output, x)


@checks(rf"fill_scalar_(?P<form>dense|strided)_(?P<type>{TYPE})")
def fill_scalar(kernel, match) -> Iterator[Check]:
    dtype = DTYPES[match["type"]]
    identity = Case(UNARY["copy_identity"], dtype)
    for value in operands(identity.operator, [dtype], 20)[0]:
        output = Output(dtype, COUNT, layouts_of(match["form"]))
        bits = device_bytes(value.reshape(1))
        if match["form"] == "strided":
            arguments = [list(DIMENSIONS), output.byte_strides, uints(len(DIMENSIONS))]
            threads = (COUNT // DIMENSIONS[0], DIMENSIONS[0])
        else:
            arguments, threads = [uints(COUNT)], fill_threads(dtype)
        launch(kernel, output.bytes, bits, *arguments, threads=threads)
        yield identity.check(f"{value}", output, [value.expand(COUNT)])


def fill_threads(dtype: torch.dtype) -> int:
    """Bytes go four at a time from an address that is a multiple of four, of which the output is one past."""
    return COUNT if dtype.itemsize > 1 else (COUNT + 1 + 3) // 4
