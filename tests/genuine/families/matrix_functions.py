"""Linear combinations of powers of a matrix (FunctionOfAMatrixUtils.metal, from 2.14 on)."""

import torch
from harness import Check, checks
from inputs import DTYPES, whole
from packing import packed


@checks(r"compute_linear_combination_(?P<type>float2|float|half|bfloat)_(?P<index>u32|u64)", since="2.14")
def linear_combination(kernel, match):
    """out += sum of coefficients times terms, whose strides are in elements and those of the rest in bytes."""
    dtype = DTYPES[match["type"]]
    factor = torch.float32 if dtype.is_complex else dtype
    rows, columns, terms = 5, 7, 4
    out, x = whole(dtype, rows, columns), whole(dtype, rows, terms, columns)
    weights = whole(factor, rows, terms, low=-3, high=3)
    item, small = dtype.itemsize, factor.itemsize
    strides = ([item, columns * item], [item, terms * columns * item], [0, terms * small])
    got = out.to("mps")
    layout = "4I" if match["index"] == "u32" else "4Q"
    kernel(
        *(got, x.to("mps"), weights.to("mps"), [columns, rows], *strides, packed(layout, columns, 1, terms, 2)),
        threads=out.numel(),
    )
    wide = torch.complex128 if dtype.is_complex else torch.float64
    expected = out.to(wide) + (x.to(wide) * weights.to(wide)[:, :, None]).sum(1)
    yield Check("sums", got, expected.to(dtype))
