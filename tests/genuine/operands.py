"""Operands of elementwise operators: ordinary ones from where the operator is at home, and hard ones."""

import dataclasses
import itertools

import torch
from inputs import HARD, ordinary
from operators import Operator


def is_integer(dtype: torch.dtype) -> bool:
    return not dtype.is_floating_point and not dtype.is_complex


def limits_of(operator: Operator, position: int, dtype: torch.dtype):
    if dtype == torch.float16 and operator.half_range is not None:
        return operator.half_range
    if dtype == torch.complex32 and operator.half2_range is not None:
        return operator.half2_range
    return operator.ranges[position] if position < len(operator.ranges) else None


def draw(operator: Operator, position: int, dtype: torch.dtype, count: int) -> torch.Tensor:
    limits = limits_of(operator, position, dtype)
    if limits is None or dtype == torch.bool:
        values = ordinary(dtype, count)
    elif is_integer(dtype) or operator.whole[position]:
        low, high = int(limits[0]), int(limits[1])
        low = max(low, operator.least_integer, torch.iinfo(dtype).min) if is_integer(dtype) else low
        values = torch.randint(low, high + 1, (count,)).to(dtype)
    else:
        low, high = limits
        values = low + (high - low) * torch.rand(count)
        if operator.between:
            values = ((values * 8).floor() + 0.5) / 8
        values = (torch.complex(values, values.flip(0)) if dtype.is_complex else values).to(dtype)
    return divisible(operator, position, values)


def divisible(operator: Operator, position: int, values: torch.Tensor) -> torch.Tensor:
    """Without the divisors by which a division of integers may not be defined."""
    if not operator.divides or position != operator.divisor or not is_integer(values.dtype):
        return values
    return torch.where((values == 0) | (values == -1), torch.ones_like(values), values)


def hard_values(operator: Operator, position: int, dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.bool or not operator.hard or (dtype.is_complex and not operator.hard_complex):
        return torch.empty(0, dtype=dtype)
    if dtype.is_floating_point:
        values = torch.tensor(HARD).to(dtype)
    elif dtype.is_complex:
        values = torch.complex(torch.tensor(HARD), torch.tensor(HARD[::-1])).to(dtype)
    else:
        info = torch.iinfo(dtype)
        largest = min(info.max, 2**63 - 1)  # torch has little for what only uint64 holds
        least = 1 - largest if operator.overflows and info.min < 0 else info.min
        values = torch.tensor([largest, least, 0, 1, largest - 1]).to(dtype)
    sizes = values.to(torch.complex64).abs()
    return divisible(operator, position, values[~(sizes > operator.largest) | sizes.isinf()])


def calm(operator: Operator) -> Operator:
    return dataclasses.replace(operator, hard=False)


def operands(operator: Operator, dtypes: list[torch.dtype], count: int) -> list[torch.Tensor]:
    """Every combination of hard values first, then ordinary ones."""
    values = [draw(operator, i, dtype, count) for i, dtype in enumerate(dtypes)]
    hard = [hard_values(operator, i, dtype) for i, dtype in enumerate(dtypes)]
    for i, combination in enumerate(itertools.islice(itertools.product(*hard), count)):
        for operand, value in zip(values, combination, strict=True):
            operand[i] = value
    return values
