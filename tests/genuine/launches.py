"""Buffers, strides and scalars as PyTorch's host code hands them to elementwise kernels."""

import math

import torch
from inputs import DTYPES

# What kernels call ScalarType: c10's numbers.
SCALAR_TYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.complex32: 8,
    torch.complex64: 9,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
    torch.float8_e4m3fn: 24,
}
_CASTS = {"half": "fp16", "half2": "fp16", "bfloat": "bf16", "int": "int32", "short": "int16", "char": "int8"}
_CASTS |= {"uchar": "uint8", "bool": "uint8"}
# Types that the host promotes to this one; where there is none, one that the kernel can read.
PROMOTED = {
    "float": ("half", "bfloat", "long", "bool"),
    "half": ("int", "bool"),
    "bfloat": ("short", "uchar"),
    "long": ("int", "uchar"),
    "int": ("short", "bool"),
    "short": ("char", "uchar"),
    "char": ("bool", "uchar"),
    "uchar": ("bool", "char"),
    "bool": ("uchar", "int"),
    "float2": ("float", "half2", "int"),
    "half2": ("half", "bool"),
    "float8_e4m3fn": ("bool", "uchar"),
    "ushort": ("uchar", "bool"),
    "uint": ("ushort", "uchar"),
    "ulong": ("uint", "uchar"),
}
TYPE = "|".join(DTYPES)
PARAMETERS = rf"{TYPE}|[A-Z]\w+Params(?:_(?:{TYPE}))?"
PER_THREAD = 4  # elements, in the forms that unroll
GUARD = 1  # fills what a kernel must not write; of bytes of ones no type makes a denormal float or a NaN

# A tensor of these dimensions, the innermost first as TensorIterator has them, has COUNT elements.
DIMENSIONS = (7, 5, 9)
COUNT = math.prod(DIMENSIONS)
# One layout for each operand: with gaps, turned around, padded, and with gaps everywhere.
LAYOUTS = ((2, 15, 80), (45, 9, 1), (1, 8, 41), (3, 22, 111))
# Slices of rows: the innermost dimension has no gaps.
ROWS = ((1, 15, 80), (1, 70, 7), (1, 8, 41), (1, 12, 65))


def device_bytes(values: torch.Tensor) -> torch.Tensor:
    """The bytes on the device: a kernel cannot tell, and mps does not have all of Metal's types."""
    return values.contiguous().view(torch.uint8).to("mps")


def uints(*values: int) -> tuple[list[int], str]:
    return list(values), "int32"


def scalar(value: complex, metal_type: str) -> tuple[object, str | None]:
    cast = _CASTS.get(metal_type)
    if metal_type in ("float2", "half2"):
        return [float(value.real), float(value.imag)], cast
    number = bool(value) if metal_type == "bool" else value
    return (float(number) if DTYPES[metal_type].is_floating_point else int(number)), cast


def launch(kernel, *arguments, threads) -> None:
    """Arguments are tensors, lists of int64, or pairs of a value and the name of its cast."""
    plain, casts = [], {}
    for index, argument in enumerate(arguments):
        if isinstance(argument, tuple):
            argument, cast = argument
            if cast is not None:
                casts[index] = cast
        plain.append(argument)
    kernel(*plain, threads=threads, arg_casts=casts or None)


class Strided:
    """COUNT values in one of the layouts."""

    def __init__(self, dtype: torch.dtype, operand: int, layouts=LAYOUTS):
        self._strides = layouts[operand]
        self.byte_strides = [stride * dtype.itemsize for stride in self._strides]
        size = 1 + sum(stride * (extent - 1) for stride, extent in zip(self._strides, DIMENSIONS, strict=True))
        self._whole = torch.full((size * dtype.itemsize,), GUARD, dtype=torch.uint8).view(dtype)

    def holding(self, values: torch.Tensor) -> torch.Tensor:
        """The whole buffer, gaps and all."""
        whole = self._whole.clone()
        shape, strides = DIMENSIONS[::-1], self._strides[::-1]
        whole.as_strided(shape, strides).copy_(values.view(shape))
        return whole


class Output:
    """Where a kernel writes, with guards around it."""

    def __init__(self, dtype: torch.dtype, count: int, layouts=None):
        self.dtype = dtype
        self._layout = Strided(dtype, 0, layouts) if layouts else None
        size = self._layout.holding(torch.zeros(COUNT, dtype=dtype)).numel() if layouts else count
        self._whole = torch.full(((size + 2) * dtype.itemsize,), GUARD, dtype=torch.uint8, device="mps")
        self.bytes = self._whole[dtype.itemsize :]  # not aligned to more than one element
        self.byte_strides = self._layout.byte_strides if layouts else None

    def got(self) -> torch.Tensor:
        return self._whole.cpu().view(self.dtype)

    def expected(self, values: torch.Tensor) -> torch.Tensor:
        inside = self._layout.holding(values) if self._layout else values
        guard = torch.full((self.dtype.itemsize,), GUARD, dtype=torch.uint8).view(self.dtype)
        return torch.cat([guard, inside, guard])


def layouts_of(form: str):
    """Of the operands in a form of a kernel's name; None where they have no gaps."""
    return ROWS if form.startswith("inner_contiguous") else LAYOUTS if form.startswith("strided") else None


def launch_strided(kernel, output, inputs, *, before=(), after, threads=COUNT, output_last=False) -> None:
    """Sizes and strides between the scalars that come before and after them."""
    layouts = [Strided(value.dtype, i + 1) for i, value in enumerate(inputs)]
    buffers = [device_bytes(layout.holding(value)) for layout, value in zip(layouts, inputs, strict=True)]
    strides = [layout.byte_strides for layout in layouts]
    strides = [*strides, output.byte_strides] if output_last else [output.byte_strides, *strides]
    launch(kernel, output.bytes, *buffers, *before, list(DIMENSIONS), *strides, *after, threads=threads)


def launch_rows(kernel, output, inputs, *, more=(), after=(), output_last=False) -> None:
    """Sizes and strides of all but the innermost dimension; the grid has tiles of a row, and rows."""
    layouts = [Strided(value.dtype, i + 1, ROWS) for i, value in enumerate(inputs)]
    buffers = [device_bytes(layout.holding(value)) for layout, value in zip(layouts, inputs, strict=True)]
    strides = [layout.byte_strides[1:] for layout in layouts]
    outer = output.byte_strides[1:]
    strides = [*strides, outer] if output_last else [outer, *strides]
    rows = uints(len(DIMENSIONS) - 1, DIMENSIONS[0], *more)
    threads = (-(-DIMENSIONS[0] // PER_THREAD), COUNT // DIMENSIONS[0])
    launch(kernel, output.bytes, *buffers, list(DIMENSIONS[1:]), *strides, rows, *after, threads=threads)


def threads_of(count: int, form: str) -> int:
    return -(-count // PER_THREAD) if "ilp" in form else count


def dtype_of_parameters(metal_type: str) -> torch.dtype:
    """A structure that does not name the type of its values has floats."""
    return torch.float32 if metal_type.endswith("Params") else DTYPES[metal_type.rpartition("_")[2]]


def parameters(values, metal_type: str):
    """alpha, or a structure of several values of one type, of which a flag may be the last."""
    if not isinstance(values, tuple):
        return scalar(values, metal_type)
    dtype = dtype_of_parameters(metal_type)
    numbers = [value for value in values if not isinstance(value, bool)]
    flags = [value for value in values if isinstance(value, bool)]
    packed = torch.tensor(numbers).to(dtype).view(torch.uint8)
    return device_bytes(torch.cat([packed, torch.tensor(flags + [False] * 8, dtype=torch.uint8)]))


def rounded(values, metal_type: str) -> tuple:
    """What the kernel finds of these values."""
    listed = values if isinstance(values, tuple) else (values,)
    dtype = dtype_of_parameters(metal_type)
    return tuple(value if isinstance(value, bool) else torch.tensor(value).to(dtype).item() for value in listed)
