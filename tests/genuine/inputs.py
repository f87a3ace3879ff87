"""Ordinary and hard inputs of each of Metal's types."""

import torch

DTYPES = {
    "float": torch.float32,
    "half": torch.float16,
    "bfloat": torch.bfloat16,
    "int": torch.int32,
    "long": torch.int64,
    "short": torch.int16,
    "char": torch.int8,
    "uchar": torch.uint8,
    "bool": torch.bool,
    "float2": torch.complex64,
    "half2": torch.complex32,
    "ushort": torch.uint16,
    "uint": torch.uint32,
    "ulong": torch.uint64,
    "float8_e4m3fn": torch.float8_e4m3fn,
}
HARD = (
    float("nan"),
    float("inf"),
    float("-inf"),
    0.0,
    -0.0,
    1e-40,
    -1e-40,
    3e38,
    -3e38,
    1.0,
    -1.0,
    0.5,
    65504.0,
    1e-30,
)


def ordinary(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if dtype.is_floating_point or dtype.is_complex:
        wide = torch.randn(shape, dtype=torch.complex64 if dtype.is_complex else torch.float32) * 3
        return wide.to(dtype)
    info = torch.iinfo(dtype)
    return torch.randint(max(info.min, -100), min(info.max, 100), shape).to(dtype)


def hard(dtype: torch.dtype, count: int) -> torch.Tensor:
    """`count` values, of which the first are the hard ones: NaN, infinities, denormals, -0; the ends of integers."""
    values = ordinary(dtype, count)
    if dtype == torch.bool:
        return values
    if dtype.is_floating_point:
        ends = torch.tensor(HARD).to(dtype)
    elif dtype.is_complex:
        ends = torch.complex(torch.tensor(HARD), torch.tensor(HARD[::-1])).to(dtype)
    else:
        info = torch.iinfo(dtype)
        ends = torch.tensor([info.max, info.min, 0, 1, info.max - 1], dtype=dtype)
    values[: len(ends)] = ends[:count]
    return values


def whole(dtype: torch.dtype, *shape: int, low: int = -8, high: int = 8) -> torch.Tensor:
    """Small whole numbers, of either part of complex ones: a few of them are added exactly, in any order."""
    if dtype == torch.bool:
        return ordinary(dtype, *shape)
    low = 0 if dtype == torch.uint8 else low
    x = torch.randint(low, high + 1, shape)
    return (
        torch.complex(x.float(), torch.randint(low, high + 1, shape).float()).to(dtype)
        if dtype.is_complex
        else x.to(dtype)
    )


def factors(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Powers of two, or odd integers, which wrap: multiplied exactly, in any order."""
    if dtype == torch.bool:
        return ordinary(dtype, *shape)
    of = torch.tensor([1.0, -1.0, 2.0, 0.5] if dtype.is_floating_point else [1, 3, 5, 7])
    return of[torch.randint(0, 4, shape)].to(dtype)
