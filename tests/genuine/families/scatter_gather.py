"""ScatterGather.metal: gather, and scatter that sets, adds, multiplies or keeps an extreme.

What threads combine in one place is exact in any order: small integers, powers of two.
"""

import torch
from harness import Check, checks
from inputs import DTYPES, factors, hard, ordinary, whole
from launch import as_words, blank
from packing import error_buffer, error_count, packed

TYPE = r"(?P<type>float8_e4m3fn|float2|half2|float|half|bfloat|int|long|short|char|uchar|bool)_(?P<index>int|long)"
DIM = 1
LOWEST = torch.iinfo(torch.int64).min


def dense_sizes(index: torch.Tensor, of: torch.Tensor) -> tuple[int, int, int, int]:
    """The elements within one step along DIM, the index's and the other tensor's sizes there, and the first thread."""
    return (of[0, 0].numel(), index.size(DIM), of.size(DIM), 0)


def strided_sizes(index: torch.Tensor, written: torch.Tensor, read: torch.Tensor, indexed: torch.Tensor) -> tuple:
    strides = (list(written.stride()), list(read.stride()), list(index.stride()))
    return (list(index.shape), *strides, packed("III", index.dim(), DIM, 0), indexed.size(DIM), 0)


def against_the_grain(x: torch.Tensor) -> torch.Tensor:
    """The same values, with the first dimension innermost in memory."""
    return x.permute(2, 1, 0).contiguous().permute(2, 1, 0)


def storage(x: torch.Tensor) -> torch.Tensor:
    return x.permute(2, 1, 0).to("mps")


@checks(rf"gather_(?P<form>dense|strided)_{TYPE}")
def gather(kernel, match):
    dtype, index_type = DTYPES[match["type"]], DTYPES[match["index"]]
    x = hard(dtype, 4 * 9 * 7).view(4, 9, 7)
    index = torch.randint(0, 9, (4, 13, 7)).to(index_type)
    index[1, 2, 3], index[2, 2, 3] = -1, 9
    out, errors = blank(dtype, 4, 13, 7), error_buffer()
    if match["form"] == "dense":
        kernel(out, x.to("mps"), index.to("mps"), 7, 13, 9, 0, errors, threads=index.numel())
    else:
        x, index = against_the_grain(x), against_the_grain(index)
        kernel(out, storage(x), storage(index), *strided_sizes(index, out, x, x), errors, threads=index.numel())
    within = (index >= 0) & (index < 9)
    expected = as_words(x).gather(DIM, (index * within).long())
    yield Check("values", as_words(out), torch.where(within, expected, torch.zeros(1, dtype=expected.dtype)))
    yield Check("errors", error_count(errors), torch.tensor(2))


def scattered(op: str, start: torch.Tensor, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """In types whose results are exact, and wrap to those of the kernel's."""
    dtype = start.dtype
    if dtype == torch.bool:
        op = {"add": "amax", "prod": "amin"}.get(op, op)
    if dtype.is_complex:
        return start.to(torch.complex128).scatter_add(DIM, index, source.to(torch.complex128)).to(dtype)
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    name = {"add": "sum"}.get(op, op)
    return start.to(wide).scatter_reduce(DIM, index, source.to(wide), name).to(dtype)


def combined_inputs(op: str, dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if op == "prod":
        return factors(dtype, *shape)
    if op == "add":
        return whole(dtype, *shape, low=0, high=3)
    x = ordinary(dtype, *shape)
    if dtype.is_floating_point:
        x.flatten()[::17] = float("nan")
        x.flatten()[1::17] = float("inf")
        x.flatten()[2::17] = float("-inf")
    return x


@checks(rf"scatter_(?P<op>add|prod|amin|amax)_(?P<form>dense|strided)_{TYPE}")
def scatter_reduce(kernel, match):
    dtype, index_type = DTYPES[match["type"]], DTYPES[match["index"]]
    start = combined_inputs(match["op"], dtype, 4, 10, 6)
    source = combined_inputs(match["op"], dtype, 4, 25, 6)
    index = torch.randint(0, 10, (4, 25, 6))
    # Extremes of long are unsigned ones: the host flips signs before and after.
    sign = LOWEST if dtype == torch.int64 and match["op"] in ("amin", "amax") else 0
    out, errors = (start ^ sign if sign else start).to("mps"), error_buffer()
    expected = scattered(match["op"], start, index, source)
    index = index.to(index_type)
    if match["form"] == "dense":
        kernel(out, source.to("mps"), index.to("mps"), *dense_sizes(index, start), errors, threads=index.numel())
    else:
        index, source = against_the_grain(index), against_the_grain(source)
        kernel(
            *(out, storage(source), storage(index), *strided_sizes(index, start, source, start), errors),
            threads=index.numel(),
        )
    got = out.cpu()
    yield Check("values", got ^ sign if sign else got, expected)
    yield Check("errors", error_count(errors), torch.tensor(0))


def without_repeats(steps: int, *shape: int) -> torch.Tensor:
    """An index that names no place twice: which of two would win is open."""
    return torch.rand(shape[0], steps, shape[2]).argsort(1)[:, : shape[1]]


@checks(rf"scatter_set_(?P<form>dense_value_|dense_|){TYPE}")
def scatter_set(kernel, match):
    dtype, index_type = DTYPES[match["type"]], DTYPES[match["index"]]
    start, source = ordinary(dtype, 4, 10, 6), hard(dtype, 4 * 8 * 6).view(4, 8, 6)
    index = without_repeats(10, 4, 8, 6)
    out, errors = start.to("mps"), error_buffer()
    if match["form"] == "dense_value_":
        source = source[:1, :1, :1].expand_as(index).contiguous()
    lost = int(index[0, 0, 0])
    expected = as_words(start).scatter(DIM, index, as_words(source))
    expected[0, lost, 0] = as_words(start)[0, lost, 0]
    index = index.to(index_type)
    index[0, 0, 0] = 10  # reported, and written nowhere
    if match["form"]:
        kernel(out, source.to("mps"), index.to("mps"), *dense_sizes(index, start), errors, threads=index.numel())
    else:
        index, source = against_the_grain(index), against_the_grain(source)
        kernel(
            *(out, storage(source), storage(index), *strided_sizes(index, start, source, start), errors),
            threads=index.numel(),
        )
    yield Check("values", as_words(out), expected)
    yield Check("errors", error_count(errors), torch.tensor(1))


@checks("scatter_signbit_xor_long")
def flip_signs(kernel, match):
    x = hard(torch.int64, 300)
    out = x.to("mps")
    kernel(out, 0, threads=300)
    yield Check("flipped", out, x ^ LOWEST)
