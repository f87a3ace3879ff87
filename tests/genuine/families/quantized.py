"""Products with weights of 4 bits, and how those are packed."""

import torch
from harness import Check, checks
from inputs import DTYPES
from packing import mps, rounding, words


@checks("weight_to_int4pack")
def pack(kernel, match):
    rows, columns = 70, 12
    weight = torch.randint(0, 256, (rows, columns * 4), dtype=torch.uint8)
    out = torch.zeros(rows, columns * 4, dtype=torch.uint8, device="mps")
    kernel(mps(weight), out, words(rows, columns, 0, 0), threads=(rows, columns), group_size=(64, 1))
    yield Check("halves of bytes swapped", out, (weight << 4) | (weight >> 4))


@checks(r"int4pack_mm_(?P<group>\d+)_(?P<type>float|half|bfloat)")
def int4_product(kernel, match):
    dtype, group = DTYPES[match["type"]], int(match["group"])
    for rows, inner, columns in [(3, 2 * group, 24), (1, 3 * group, 8)]:
        a = torch.randn(rows, inner).to(dtype)
        quantised = torch.randint(0, 16, (columns, inner), dtype=torch.uint8)
        weight = quantised[:, 0::2] | (quantised[:, 1::2] << 4)
        scales = (torch.rand(inner // group, columns) * 0.2 + 0.05).to(dtype)
        zeros = torch.randn(inner // group, columns).to(dtype)
        both = torch.stack([scales, zeros], -1).contiguous()
        out = torch.empty(rows, columns, dtype=dtype, device="mps")
        kernel(
            mps(a),
            mps(weight),
            mps(both),
            out,
            words(rows, inner, columns, 0),
            threads=(columns // 4 * 32, 1, rows),
            group_size=(64, 1, 1),
        )
        # The point of zero is moved in the type itself: once for the product, once for the difference.
        shift = (zeros - (scales * 8).to(dtype)).to(dtype)
        spread = [t.double().repeat_interleave(group, 0).t() for t in (scales, shift)]
        dequantised = quantised.double() * spread[0] + spread[1]
        expected = a.double() @ dequantised.t()
        # Products with the weight and with the point of zero are summed apart, in float32.
        bound = float((a.double().abs() @ (quantised.double() * spread[0] + spread[1].abs()).t()).max())
        yield Check(
            f"{rows}x{inner}x{columns}",
            out,
            expected.to(dtype),
            rtol=2 * rounding(dtype),
            atol=inner * 2.0**-24 * bound,
        )
