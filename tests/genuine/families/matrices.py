"""TriangularOps.metal, Eye.metal and CrossKernel.metal."""

import torch
from harness import Check, checks
from inputs import DTYPES, hard
from launch import blank
from packing import packed

TYPE = r"(?P<type>float8_e4m3fn|float2|half2|float|half|bfloat|int|long|short|char|uchar|bool)"


def turned(values) -> torch.Tensor:
    """As the host passes sizes and strides: the last dimension first, as integers of 32 bits."""
    return torch.tensor(list(values)[::-1], dtype=torch.int32).to("mps")


@checks(rf"(?P<part>triu|tril)_(?P<inplace>inplace_)?int_{TYPE}")
def triangle(kernel, match):
    dtype = DTYPES[match["type"]]
    for shape, diagonal in (((12, 9), 0), ((3, 7, 11), 2), ((2, 3, 5, 8), -1), ((1, 1), 1)):
        storage = hard(dtype, torch.Size(shape).numel()).view(*shape[:-2], shape[-1], shape[-2])
        x = storage.transpose(-1, -2)
        where = {
            "threads": (shape[-1], shape[-2], x[..., 0, 0].numel()),
            "group_size": (shape[-1], 1, 1),
        }
        which = packed("ii", diagonal, len(shape))
        expected = getattr(x, match["part"])(diagonal)
        if match["inplace"]:
            out = storage.to("mps")
            kernel(out, turned(x.stride()), turned(shape), which, **where)
            yield Check(f"{shape} from {diagonal}", out.cpu().transpose(-1, -2), expected)
        else:
            out = blank(dtype, *shape)
            kernel(out, storage.to("mps"), turned(out.stride()), turned(x.stride()), turned(shape), which, **where)
            yield Check(f"{shape} from {diagonal}", out, expected)


@checks(r"(?P<part>triu|tril)_indices_(?P<type>int|long)")
def triangle_indices(kernel, match):
    dtype, upper = DTYPES[match["type"]], match["part"] == "triu"
    for rows, columns, offset in ((7, 9, 0), (9, 5, 2), (40, 50, -3), (300, 200, 7), (1, 1, 0)):
        make = torch.triu_indices if upper else torch.tril_indices
        expected = make(rows, columns, offset).to(dtype)
        size = expected.size(1)
        if upper:
            first = max(columns - offset, 0) if offset > 0 else columns
            before = min(rows, -offset) * columns if offset < 0 else 0
            numbers = (max(0, offset), first, columns, before)
        else:
            first = min(columns, 1 + offset) if offset > 0 else int(rows + offset > 0)
            skipped = max(0, -offset)
            rectangle = max(0, rows - (skipped + columns - first + 1)) * columns
            numbers = (skipped, first, columns, size - rectangle)
        out = blank(dtype, 2, size)
        kernel(out, *numbers, size, threads=size)
        yield Check(f"{rows} by {columns} from {offset}", out, expected)


@checks(rf"eye_{TYPE}")
def eye(kernel, match):
    dtype = DTYPES[match["type"]]
    out = blank(dtype, 13, 20)
    kernel(out, 20, 1, threads=(20, 13), group_size=(20, 13))
    yield Check("ones and zeros", out, torch.eye(13, 20).to(dtype))


@checks(rf"eye_diag_{TYPE}")
def eye_diagonal(kernel, match):
    dtype = DTYPES[match["type"]]
    out = torch.zeros(13, 20, dtype=dtype, device="mps")
    kernel(out, 21, threads=13)
    yield Check("ones", out, torch.eye(13, 20).to(dtype))


@checks(rf"cross_(?P<form>dense|strided)_{TYPE}")
def cross(kernel, match):
    dtype = DTYPES[match["type"]]
    if dtype.is_complex:
        x, y = (torch.complex(*torch.randint(-4, 5, (2, 5, 3, 7)).float()).to(dtype) for _ in range(2))
    else:
        x, y = (torch.randint(-8, 9, (5, 3, 7)).to(dtype) for _ in range(2))
    wide = torch.complex128 if dtype.is_complex else torch.float64
    if not (dtype.is_floating_point or dtype.is_complex):
        wide = torch.int64
    expected = torch.linalg.cross(x.to(wide), y.to(wide), dim=1).to(dtype)
    out = blank(dtype, 5, 3, 7)
    if match["form"] == "dense":
        kernel(out, x.to("mps"), y.to("mps"), packed("I", 7), threads=35)
    else:
        storage = x.permute(2, 1, 0).contiguous()
        strides = (list(out.stride()), list(storage.permute(2, 1, 0).stride()), list(y.stride()))
        kernel(out, storage.to("mps"), y.to("mps"), [5, 7], *strides, packed("I", 3), packed("I", 1), threads=35)
    # Whole numbers: exact, but for the sign of zero.
    yield Check("products", out, expected, rtol=1e-12)
