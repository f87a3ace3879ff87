"""Maximum and average over windows, and the ways back."""

import torch
from harness import Check, checks, is_since
from inputs import DTYPES, hard, ordinary
from packing import as_bytes, error_buffer, errors_in, mps, packed, padded, rounding, with_specials

F = torch.nn.functional
DIMS = 5
# shape, window, step, padding, dilation
CASES = [
    ((2, 3, 9, 7), (3, 2), (2, 1), (1, 1), (1, 2)),
    ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0), (1, 1)),
    ((3, 10, 8), (2, 3), (2, 3), (0, 1), (3, 1)),
    ((2, 2, 5, 6, 7), (2, 3, 2), (2, 2, 1), (1, 0, 1), (1, 2, 1)),
]


def layout(*tensors):
    return [value for t in tensors for numbers in (t.shape, t.stride()) for value in padded(numbers, DIMS)]


def windows(*numbers):
    return [value for n in numbers for value in padded(n, DIMS - 2)]


def max_pool(x, window, step, padding, dilation):
    pool = F.max_pool2d if len(window) == 2 else F.max_pool3d
    return pool(x, window, step, padding, dilation, return_indices=True)


def largest(x, *window):
    """Values and places. The kernel keeps a window's first element unless another is greater: NaN wins only there."""
    planes = x.flatten(-len(window[0]))
    ordered = x.nan_to_num(-float("inf"), float("inf"), -float("inf")) if x.is_floating_point() else x
    ranks = torch.unique(ordered, return_inverse=True)[1]
    _, places = max_pool(ranks.double(), *window)
    if x.is_floating_point():
        position = torch.arange(planes.size(-1)).view(x.shape[-len(window[0]) :]).expand(x.shape)
        _, first = max_pool(-position.double(), *window)
        starts_with_nan = planes.gather(-1, first.flatten(-len(window[0]))).isnan().view(first.shape)
        places = torch.where(starts_with_nan, first, places)
    return planes.gather(-1, places.flatten(-len(window[0]))).view(places.shape), places


def flushed(x):
    """Denormals compare as zeros, so that which of them is the largest is not worth a question."""
    return x.where(x.abs() > 1.2e-38, 0) if x.is_floating_point() else x


@checks(r"max_pool_(?P<type>[a-z]+)")
def maximum(kernel, match):
    dtype = DTYPES[match["type"]]
    for shape, *window in CASES:
        for values in (ordinary(dtype, *shape), flushed(hard(dtype, torch.Size(shape).numel())).view(shape)):
            expected, places = largest(values, *window)
            out = torch.empty_like(expected, device="mps")
            indices = torch.empty(expected.shape, dtype=torch.int64, device="mps")
            numbers = [len(shape), len(window[0]), *layout(values, out, indices), *windows(*window)]
            for with_indices in (False, True):
                parameters = packed(f"{len(numbers)}i?", *numbers, with_indices)
                kernel(mps(values), out, indices, parameters, threads=out.numel())
                yield Check(f"{shape} by {window[0]}", out, expected)
            yield Check(f"places of {shape} by {window[0]}", indices, places)


@checks(r"max_pool_backward_(?P<type>float|half|bfloat)")
def maximum_backward(kernel, match):
    dtype = DTYPES[match["type"]]
    for shape, *window in CASES:
        _, places = largest(ordinary(dtype, *shape), *window)
        grad = torch.randn(places.shape).to(dtype)
        out = torch.zeros(shape, dtype=dtype, device="mps")
        indices = padded(places.stride(), DIMS)
        numbers = [len(shape), len(window[0]), *layout(out, grad), *indices]
        kernel(out, mps(grad), mps(places), packed(f"{len(numbers)}i", *numbers), threads=grad.numel())
        flat = torch.zeros(shape).double().flatten(-len(window[0]))
        flat.scatter_add_(-1, places.flatten(-len(window[0])), grad.double().flatten(-len(window[0])))
        # A few terms, and every sum of them is rounded.
        expected = flat.view(shape).to(dtype)
        yield Check(f"{shape} by {window[0]}", out, expected, rtol=2 * rounding(dtype), atol=16 * rounding(dtype))


@checks(r"max_unpool_(?P<type>\w+)")
def unpool(kernel, match):
    dtype = DTYPES[match["type"]]
    for shape, to in [((2, 3, 4, 3), (7, 6)), ((2, 2, 3), (4, 5)), ((1, 2, 2, 3, 2), (3, 4, 3))]:
        leading = shape[: len(shape) - len(to)]
        values = hard(dtype, torch.Size(shape).numel()).view(shape)
        places = torch.stack([torch.randperm(torch.Size(to).numel())[: values[(0,) * len(leading)].numel()]] * 1)
        places = places.expand(torch.Size(leading).numel(), -1).reshape(shape).contiguous()
        before = torch.zeros(*leading, *to, dtype=dtype)
        expected = before.flatten(-len(to)).scatter(-1, places.flatten(-len(to)), values.flatten(-len(to)))
        expected = expected.view(before.shape)
        out, errors = mps(before), error_buffer()
        numbers = [len(shape), len(to), *layout(values, out), *padded(places.stride(), DIMS)]
        parameters = packed(f"{len(numbers)}i", *numbers)
        kernel(out, mps(values), mps(places), parameters, errors, threads=values.numel())
        yield Check(f"{shape} to {to}", out, expected)
        yield Check("no error", errors, torch.zeros_like(errors))
    places.view(-1)[0] = 1000
    kernel(out, mps(values), mps(places), parameters, errors, threads=values.numel())
    counted, said = errors_in(errors)
    yield Check("one error", counted, torch.tensor([1], dtype=torch.int32))
    yield Check("which", as_bytes(said), as_bytes(b"Found an invalid max index: 1000 (size_prod is 36)"))


def average_cases():
    for shape, window, step, padding, _ in CASES:
        for include_pad in (False, True):
            for divisor in (None, 5):
                yield shape, window, step, padding, include_pad, divisor


def average_pool(x, window, step, padding, include_pad, divisor):
    pool = F.avg_pool2d if len(window) == 2 else F.avg_pool3d
    return pool(x, window, step, padding, count_include_pad=include_pad, divisor_override=divisor)


def average_parameters(small, out, window, step, padding, include_pad, divisor):
    numbers = [small.dim(), len(window), *layout(small, out), *windows(window, step, padding)]
    if is_since("2.15"):
        return packed(f"{len(numbers)}ii??", *numbers, divisor or 0, include_pad, divisor is not None)
    return packed(f"{len(numbers)}i??i", *numbers, include_pad, divisor is not None, divisor or 0)


@checks(r"avg_pool_(?P<type>[a-z]+)")
def average(kernel, match):
    dtype = DTYPES[match["type"]]
    for shape, *case in average_cases():
        values = ordinary(dtype, *shape)
        if dtype.is_floating_point:
            values = with_specials(values) if case[3] else values
            expected = average_pool(values.double(), *case).to(dtype)
        else:
            # Whole sums, divided towards zero; of truth values, whether any is true.
            total = average_pool(values.double(), *case[:3], case[3], 1).round().long()
            ones = torch.ones(shape, dtype=torch.float64)
            sums = average_pool(ones, *case[:3], case[3], 1)
            divisor = case[4] or (sums / average_pool(ones, *case[:3], case[3], None)).round().long()
            expected = total.bool() if dtype == torch.bool else torch.div(total, divisor, rounding_mode="trunc")
            expected = expected.to(dtype)
        out = torch.empty_like(expected, device="mps")
        kernel(mps(values), out, average_parameters(values, out, *case), threads=out.numel())
        floating = dtype.is_floating_point
        tolerance = {"rtol": 2 * rounding(dtype), "atol": 1e-5} if floating else {}
        yield Check(f"{shape} by {case[0]}, divisor {case[4]}, padding {case[3]}", out, expected, **tolerance)


@checks(r"avg_pool_backward_(?P<type>float|half|bfloat)")
def average_backward(kernel, match):
    dtype = DTYPES[match["type"]]
    for shape, *case in average_cases():
        if len(case[0]) != 3:  # the host code has no other
            continue
        x = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        pooled = average_pool(x, *case)
        grad = torch.randn(pooled.shape).to(dtype)
        pooled.backward(grad.double())
        out = torch.zeros(shape, dtype=dtype, device="mps")
        kernel(out, mps(grad), average_parameters(out, grad, *case), threads=grad.numel())
        # Shares and their sums are rounded to the type.
        yield Check(f"{shape} by {case[0]}", out, x.grad.to(dtype), rtol=2 * rounding(dtype), atol=8 * rounding(dtype))
