"""Sampling at the places that a grid names, in two and three dimensions, and its gradients."""

import torch
from harness import Check, checks
from inputs import DTYPES, hard
from packing import mps, packed, rounding

INDEX = {"i32": "i", "i64": "q"}
MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
SHAPES = {
    2: [((2, 3, 5, 7), (4, 6)), ((1, 1, 2, 2), (1, 1))],
    3: [((2, 2, 4, 3, 5), (3, 4, 2)), ((1, 1, 2, 2, 2), (1, 1, 1))],
}


def draw(dtype, shape, size):
    """Values, and a grid that leaves them on all sides; a corner and the middle exactly."""
    values = (torch.randn(shape) * 3).to(dtype)
    grid = torch.rand(shape[0], *size, len(size)) * 3 - 1.5
    places = grid.view(-1, len(size))
    places[0] = 1.0
    if len(places) > 2:
        places[1], places[2] = -1.0, 0.0
    return values, grid.to(dtype)


def layout(output, values, grid):
    tensors = (output, values, grid)
    return [output.dim() - 2, *(number for t in tensors for numbers in (t.shape, t.stride()) for number in numbers)]


def sample(values, grid, mode, padding, align_corners):
    return torch.nn.functional.grid_sample(values, grid, mode, padding, align_corners)


@checks(
    rf"grid_sampler_(?P<dims>[23])d_(?P<mode>{'|'.join(MODES)})_(?P<padding>{'|'.join(PADDINGS)})"
    r"_(?P<index>i32|i64)_(?P<type>float|half|bfloat)"
)
def forward(kernel, match):
    dtype, dims, index = DTYPES[match["type"]], int(match["dims"]), INDEX[match["index"]]
    for shape, size in SHAPES[dims]:
        for align_corners in (False, True):
            values, grid = draw(dtype, shape, size)
            if match["mode"] == "nearest":
                values = hard(dtype, values.numel()).view(shape)
            out = torch.empty(*shape[:2], *size, dtype=dtype, device="mps")
            numbers = layout(out, values, grid)
            parameters = packed(f"i{len(numbers) - 1}{index}?", *numbers, align_corners)
            threads = out.numel() // (shape[1] if dims == 2 else 1)
            kernel(out, mps(values), mps(grid), parameters, threads=threads)
            expected = sample(values.double(), grid.double(), match["mode"], match["padding"], align_corners).to(dtype)
            what = f"{shape} at {size}, corners aligned {align_corners}"
            if match["mode"] == "nearest":
                yield Check(what, out, expected)
            else:
                # Places are float32 numbers up to 10, so that shares are right to 2^-21; values are up to 12.
                yield Check(what, out, expected, rtol=2 * rounding(dtype), atol=5e-5)


class Backward:
    """A random problem and its gradients in double precision."""

    def __init__(self, dtype, shape, size, mode, padding, align_corners):
        self.values, self.grid = draw(dtype, shape, size)
        values, grid = (t.double().requires_grad_() for t in (self.values, self.grid))
        sampled = sample(values, grid, mode, padding, align_corners)
        self.grad = torch.randn(sampled.shape).to(dtype)
        sampled.backward(self.grad.double())
        self.of_values, self.of_grid = values.grad.to(dtype), grid.grad.to(dtype)
        self.mode, self.padding, self.align_corners = mode, padding, align_corners
        self.what = f"{shape} at {size}, {mode}, {padding}, corners aligned {align_corners}"
        step = rounding(dtype)
        # Gradients of values are summed in the type itself, term by term; those of places in float32.
        self.of_values_close = {"rtol": 2 * step, "atol": 16 * step * float(self.of_values.abs().max()) + 2e-5}
        self.of_grid_close = {"rtol": 2 * step, "atol": 2e-6 * float(self.of_grid.abs().max()) + 1e-4}

    def parameters(self, index, with_values=True):
        numbers = layout(self.grad, self.values, self.grid)
        strides = [*self.grad.stride(), *self.values.stride(), *self.grid.stride()]
        with_grid = self.mode != "nearest"
        kinds = [PADDINGS.index(self.padding), MODES.index(self.mode), with_values, with_grid]
        shape = f"i{len(numbers) - 1}{index}?{len(strides)}{index}ii??"
        return packed(shape, *numbers, self.align_corners, *strides, *kinds)


def backward_cases(dtype, dims, mode, paddings):
    for shape, size in SHAPES[dims]:
        for padding in paddings:
            for align_corners in (False, True):
                yield Backward(dtype, shape, size, mode, padding, align_corners)


@checks(
    r"grid_sampler_2d_backward_(?P<mode>bilinear|nearest|bicubic)_(?P<to>input|grid)(?:_(?P<padding>zeros|border|reflection))?"
    r"_(?P<index>i32|i64)_(?P<type>float|half|bfloat)"
)
def backward_2d(kernel, match):
    dtype = DTYPES[match["type"]]
    paddings = [match["padding"]] if match["padding"] else PADDINGS
    for case in backward_cases(dtype, 2, match["mode"], paddings):
        parameters = case.parameters(INDEX[match["index"]])
        threads = case.grid.numel() // 2
        if match["to"] == "input":
            out = torch.zeros(case.values.shape, dtype=dtype, device="mps")
            kernel(out, mps(case.grad), mps(case.grid), parameters, threads=threads)
            yield Check(case.what, out, case.of_values, **case.of_values_close)
        else:
            out = torch.empty(case.grid.shape, dtype=dtype, device="mps")
            kernel(out, mps(case.grad), mps(case.values), mps(case.grid), parameters, threads=threads)
            yield Check(case.what, out, case.of_grid, **case.of_grid_close)


@checks(r"grid_sampler_3d_backward_(?P<index>i32|i64)_(?P<type>float|half|bfloat)")
def backward_3d(kernel, match):
    dtype = DTYPES[match["type"]]
    for mode in ("bilinear", "nearest"):
        for case in backward_cases(dtype, 3, mode, PADDINGS):
            values = torch.zeros(case.values.shape, dtype=dtype, device="mps")
            grid = torch.zeros(case.grid.shape, dtype=dtype, device="mps")
            count, depth, height, width, _ = case.grid.shape
            kernel(
                mps(case.grad),
                mps(case.values),
                mps(case.grid),
                values,
                grid,
                case.parameters(INDEX[match["index"]]),
                threads=(width, height * depth, count),
                group_size=(16, 16, 1),
            )
            yield Check(f"values, {case.what}", values, case.of_values, **case.of_values_close)
            yield Check(f"grid, {case.what}", grid, case.of_grid, **case.of_grid_close)
