"""arange, linspace and logspace (RangeFactories.metal, from 2.14 on)."""

import torch
from harness import Check, checks, is_since
from inputs import DTYPES
from packing import packed, rounding

TYPE = r"(?P<type>float2|float|half|bfloat|int|long|short|char|uchar|bool)"
OTHER = TYPE.replace("<type>", "<other>")
INDEX = r"(?P<index>i32|i64)"
STRIDE, BASE = 2, 4


def is_float(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def close(what: str, got: torch.Tensor, expected: torch.Tensor, ulps: int = 4) -> Check:
    dtype = got.dtype
    if not is_float(dtype):
        return Check(what, got, expected.trunc().to(dtype) if dtype != torch.bool else expected != 0)
    part = torch.float32 if dtype.is_complex else dtype
    return Check(what, got, expected.to(dtype), rtol=ulps * 2.0**-24 + rounding(part), atol=ulps * 2.0**-24)


class Launch:
    """With a stride, or with sizes and strides of two dimensions; from 2.15 on not all of it, from a place on."""

    def __init__(self, dtype: torch.dtype, index: str | None, steps: int):
        self.dtype, self.index, self.steps = dtype, index, steps
        self.base = BASE if is_since("2.15") else 0
        self.out = torch.zeros(2 * steps + 40, dtype=dtype, device="mps")
        self.of = "i" if index == "i32" else "q"

    def run(self, kernel, values: torch.Tensor, has_steps: bool = True) -> torch.Tensor:
        if self.index:
            numbers = [*([self.steps] if has_steps else []), STRIDE, *([self.base] if is_since("2.15") else [])]
            padding = [0] if len(numbers) == 3 else []
            layout = packed(f"{len(numbers) + len(padding)}{self.of}", *numbers, *padding)
            kernel(self.out, values, layout, threads=self.steps - self.base)
            return self.out.cpu()[: STRIDE * self.steps : STRIDE][self.base :]
        columns = 5
        dimensions = (packed("i", 2), [columns, self.steps // columns], [STRIDE, STRIDE * columns + 1])
        if not is_since("2.15"):
            kernel(self.out, values, *([packed("I", self.steps)] if has_steps else []), *dimensions, threads=self.steps)
        elif has_steps:
            kernel(self.out, values, packed("2Q", self.steps, self.base), *dimensions, threads=self.steps - self.base)
        else:
            kernel(self.out, values, *dimensions, self.base, threads=self.steps - self.base)
        rows = self.out.cpu().as_strided((self.steps // columns, columns), (STRIDE * columns + 1, STRIDE))
        return rows.flatten()[self.base :]


@checks(rf"arange_(?:strided_{TYPE}|{OTHER}_{INDEX})", since="2.14")
def arange(kernel, match):
    dtype = DTYPES[match["type"] or match["other"]]
    start, step = (1.5, 0.375) if dtype.is_floating_point else (3, 2)
    launch = Launch(dtype, match["index"], 40)
    values = packed("2f", start, step) if dtype.is_floating_point else packed("2q", start, step)
    got = launch.run(kernel, values, has_steps=False)
    yield close("values", got, start + step * torch.arange(launch.base, 40).double())


def ends(dtype: torch.dtype) -> tuple[float, float]:
    if dtype == torch.bool:
        return 0.0, 1.0
    return (-3.0, 7.25) if is_float(dtype) else (3.0, 100.0)


def between(start: float, end: float, steps: int) -> torch.Tensor:
    """In float, from the nearer end, as the kernel has it."""
    step = torch.tensor((end - start) / (steps - 1)).float().double()
    i = torch.arange(steps).double()
    return torch.where(i < steps // 2, start + step * i, end - step * (steps - 1 - i))


@checks(rf"linspace_(?:strided_{TYPE}|{OTHER}_{INDEX})", since="2.14")
def linspace(kernel, match):
    dtype = DTYPES[match["type"] or match["other"]]
    start, end = ends(dtype)
    launch = Launch(dtype, match["index"], 40)
    got = launch.run(kernel, packed("3f", start, (end - start) / 39, end))
    expected = between(start, end, 40)
    if not is_float(dtype):
        expected = expected.float()
    yield close("values", got, expected[launch.base :])


@checks(rf"linspace_integral_(?:strided_{TYPE}|{OTHER}_{INDEX})", since="2.14")
def integral_linspace(kernel, match):
    """In whole numbers: the step and what is left of it, from the nearer end, truncated towards zero."""
    dtype = DTYPES[match["type"] or match["other"]]
    for start, end in ((3, 1000), (-1000, 1003), (50, -77)):
        launch = Launch(dtype, match["index"], 40)
        step, rest = divmod(abs(end - start), 39)
        got = launch.run(kernel, packed("2q2Q", start, end, step, rest))
        exact = [start * 39 + (end - start) * i for i in range(40)]
        expected = torch.tensor([abs(value) // 39 * (1 if value >= 0 else -1) for value in exact]).to(dtype)
        yield Check(f"{start} to {end}", got, expected[launch.base :])


@checks(rf"logspace_(?:strided_{TYPE}|{OTHER}_{INDEX})", since="2.15")
def logspace(kernel, match):
    dtype = DTYPES[match["type"] or match["other"]]
    # Powers that are not near to whole numbers, which an integer would take differently.
    start, end, base = (-2.0, 3.0, 10.0) if is_float(dtype) else (0.1, 6.3, 2.0)
    launch = Launch(dtype, match["index"], 40)
    got = launch.run(kernel, packed("4f", start, (end - start) / 39, end, base))
    yield close("values", got, base ** between(start, end, 40)[launch.base :], ulps=64)
