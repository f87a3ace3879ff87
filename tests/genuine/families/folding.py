"""Windows as columns, and columns as images."""

import torch
from harness import Check, checks
from inputs import DTYPES, hard, ordinary
from packing import mps, packed, rounding, words

INDEX = {"u32": "I", "u64": "Q"}
F = torch.nn.functional
# shape, window, dilation, padding, step
CASES = [
    ((2, 3, 9, 7), (3, 2), (1, 2), (1, 2), (2, 1)),
    ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((1, 2, 6, 70), (2, 3), (2, 1), (0, 1), (1, 1)),
]


@checks(r"im2col_(?P<type>\w+)_(?P<index>u32|u64)")
def im2col(kernel, match):
    dtype, index = DTYPES[match["type"]], INDEX[match["index"]]
    for shape, window, dilation, padding, step in CASES:
        # Which element each place of the columns takes, from 1; 0 is padding.
        places = torch.arange(1, torch.Size(shape).numel() + 1, dtype=torch.float64).view(shape)
        places = F.unfold(places, window, dilation, padding, step).long()
        values = hard(dtype, torch.Size(shape).numel())
        expected = torch.cat([torch.zeros(1, dtype=dtype), values])[places]
        length = expected.size(2)
        width = (shape[3] + 2 * padding[1] - dilation[1] * (window[1] - 1) - 1) // step[1] + 1
        out = torch.zeros(expected.numel() * dtype.itemsize, dtype=torch.uint8, device="mps")
        count, planes, height, across = shape
        kernel(
            mps(values.view(torch.uint8)),
            out,
            words(*window[::-1], *dilation[::-1]),
            words(*padding[::-1], *step[::-1]),
            packed(f"4{index}", 1, across, height * across, planes * height * across),
            packed(f"4{index}", 1, length, expected.size(1) * length, width),
            packed(f"4{index}", across, height, planes, count),
            threads=(length, planes, count),
            group_size=(64, 1, 1),
        )
        got = out.cpu().view(dtype).view(expected.shape)
        if dtype == torch.complex32:
            got, expected = torch.view_as_real(got), torch.view_as_real(expected)
        yield Check(f"{shape} by {window}", got, expected)


@checks(r"col2im_kernel_(?P<type>\w+)_(?P<index>u32|u64)")
def col2im(kernel, match):
    dtype, index = DTYPES[match["type"]], INDEX[match["index"]]
    for shape, window, dilation, padding, step in CASES:
        columns = F.unfold(torch.zeros(shape), window, dilation, padding, step).shape
        values = ordinary(dtype, *columns)
        sums = F.fold(values.double(), shape[2:], window, dilation, padding, step)
        out = torch.zeros(shape, dtype=dtype, device="mps")
        count, planes, height, width = shape
        beside = [(shape[2 + d] + 2 * padding[d] - dilation[d] * (window[d] - 1) - 1) // step[d] + 1 for d in range(2)]
        kernel(
            mps(values),
            out,
            packed(index, values.stride(0)),
            words(planes),
            words(height, width),
            *(words(*numbers) for numbers in (window, padding, step, dilation, beside)),
            packed(index, out.stride(0)),
            packed(f"2{index}", values.stride(1), values.stride(2)),
            threads=(width, height, count * planes),
            group_size=(8, 8, 1),
        )
        tolerance = {} if dtype == torch.bool else {"rtol": 2 * rounding(dtype), "atol": 5e-6}
        yield Check(f"{shape} by {window}", out, sums.to(dtype), **tolerance)
