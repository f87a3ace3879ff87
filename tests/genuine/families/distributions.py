"""Random numbers of a given seed and offset, by the formulas of the kernels over the same Philox stream."""

import numpy as np
import torch
from harness import Check, checks, is_since
from inputs import DTYPES
from packing import HALF_STEP, by_groups, error_buffer, errors_in, mps, packed, rounding, words
from philox import EPSILON, PI, normal_pairs, philox, uniform

SEED, OFFSET = 0x123456789ABCDEF, 0xFFFFFFF0  # the index carries into its upper word
COUNT = 1003
GAMMA_STRIDE = 32
STREAM = (SEED, OFFSET)


def raw_words(count, per_thread=4):
    return philox(SEED, OFFSET + np.arange(-(-count // per_thread)))


def flat(values, count):
    return torch.from_numpy(np.ascontiguousarray(values)).flatten()[:count]


def launch(kernel, dtype, parameters, count=COUNT, per_thread=4):
    """Bytes, because mps has no tensors of some of Metal's types."""
    out = torch.zeros(count * dtype.itemsize, dtype=torch.uint8, device="mps")
    kernel(out, parameters, packed("2q", *STREAM), words(count), threads=-(-count // per_thread))
    return out.cpu().view(dtype)


def cauchy(u, first, second):
    u = np.clip(u, EPSILON, np.float32(1) - EPSILON)
    return first + second * np.tan((PI * (u - np.float32(0.5))).astype(np.float64))


def exponential(u, first, _):
    if is_since("2.14"):
        u = np.maximum(u, EPSILON / 2)
    return -np.log(np.float32(1) - np.minimum(u, np.float32(1) - EPSILON).astype(np.float64)) / first


def geometric(u, first, _):
    return np.ceil(np.log(np.maximum(u, EPSILON).astype(np.float64)) / first)


def uniform_between(u, first, second):
    return first + (np.float64(np.float32(second) - np.float32(first))) * u.astype(np.float64)


# What of a uniform number, its parameters, and the relative error: precise::tan, log and exp are right to 4 ulp.
FROM_UNIFORM = {
    "cauchy": (cauchy, (0.5, 2.0), 8.0),
    "exponential": (exponential, (1.5, 0.0), 8.0),
    "geometric": (geometric, (float(np.log1p(np.float64(-0.25))), 0.0), 0.0),
    "uniform_dist": (uniform_between, (-2.0, 5.0), 2.0),
}


@checks(rf"(?P<what>{'|'.join(FROM_UNIFORM)})_(?P<type>\w+)")
def from_uniform(kernel, match):
    dtype = DTYPES[match["type"]]
    formula, parameters, steps = FROM_UNIFORM[match["what"]]
    for count in (COUNT, 1):
        got = launch(kernel, dtype, packed("2f", *parameters), count)
        expected = flat(formula(uniform(raw_words(count)), *(np.float32(p) for p in parameters)), count).to(dtype)
        if match["what"] == "uniform_dist" and is_since("2.15"):  # what was rounded up to the end begins again
            low, high = torch.tensor(parameters).to(dtype)
            expected = torch.where(expected == high, low, expected)
        if steps and dtype.is_floating_point:
            atol = 2.0**-24 * 8  # of differences of numbers up to 5
            rtol = steps * HALF_STEP[torch.float32] + 2 * rounding(dtype)
            yield Check(f"{count} numbers", got, expected, rtol=rtol, atol=atol)
        else:
            yield Check(f"{count} numbers", got, expected)


@checks(r"(?P<what>normal|log_normal)_(?P<type>float|half|bfloat)")
def from_normal(kernel, match):
    dtype = DTYPES[match["type"]]
    mean, deviation = 0.25, 1.5
    z = flat(normal_pairs(raw_words(COUNT)), COUNT)
    expected = mean + deviation * z
    # The radius is up to 6 and right to a few ulp, and so is the exponent; exp makes it relative.
    error = {"rtol": 2 * rounding(dtype), "atol": 5e-6}
    if match["what"] == "log_normal":
        expected, error = expected.exp(), {"rtol": 2 * rounding(dtype) + 1e-5}
    got = launch(kernel, dtype, packed("2f", mean, deviation))
    yield Check("numbers", got, expected.to(dtype), **error)


@checks(r"random_int_(?P<type>\w+)")
def random_int(kernel, match):
    dtype = DTYPES[match["type"]]
    per_thread = 2 if dtype.itemsize == 8 else 4
    raw = raw_words(COUNT, per_thread).astype(np.uint64)
    for base, span in [(-50, 120), (0, 2), (7, 0), (0, 2**31 - 1)]:
        if per_thread == 2:
            bits = (raw[:, 0::2] << np.uint64(32)) | raw[:, 1::2]
            values = (bits if span == 0 else bits % np.uint64(span)).astype(np.int64)
        else:
            values = raw.astype(np.uint32)
            values = values.view(np.int32) if span == 0 else values % np.uint32(span)
        values = values.astype(np.int64).reshape(-1)[:COUNT] + base
        with np.errstate(over="ignore"):
            expected = torch.from_numpy(values).to(dtype)
        got = launch(kernel, dtype, packed("2q", base, span), per_thread=per_thread)
        yield Check(f"{span} numbers from {base}", got, expected)


@checks(r"bernoulli_scalar_(?P<type>\w+)")
def bernoulli_scalar(kernel, match):
    dtype = DTYPES[match["type"]]
    for probability in (0.3, 0.0, 1.0):
        expected = flat(uniform(raw_words(COUNT)) < np.float32(probability), COUNT).to(dtype)
        got = launch(kernel, dtype, packed("2f", probability, 0))
        yield from as_parts(f"probability {probability}", got, expected)


def as_parts(what, got, expected):
    """Half complex numbers are compared as pairs of halves."""
    if expected.dtype == torch.complex32:
        got, expected = torch.view_as_real(got), torch.view_as_real(expected)
    yield Check(what, got, expected)


@checks(r"bernoulli_tensor_(?P<type>\w+)")
def bernoulli_tensor(kernel, match):
    dtype = DTYPES[match["type"]]
    probabilities = torch.rand(COUNT)
    probabilities[:2] = torch.tensor([0.0, 1.0])
    expected = (flat(uniform(raw_words(COUNT)), COUNT) < probabilities).to(dtype)
    out = torch.zeros(COUNT * dtype.itemsize, dtype=torch.uint8, device="mps")
    errors = error_buffer()
    arguments = [packed("2q", *STREAM), words(COUNT), errors]
    threads = -(-COUNT // 4)
    kernel(out, mps(probabilities), *arguments, threads=threads)
    yield from as_parts("each with its own", out.cpu().view(dtype), expected)
    probabilities[[5, 400]] = torch.tensor([1.5, float("nan")])
    kernel(out, mps(probabilities), *arguments, threads=threads)
    yield Check("what is no probability", errors_in(errors)[0], torch.tensor([2], dtype=torch.int32))


@checks(r"randperm_small_(?P<type>int|long)")
def randperm_small(kernel, match):
    dtype = DTYPES[match["type"]]
    for count in (384, 5, 1):
        out = torch.zeros(count, dtype=dtype, device="mps")
        group = min(256, count)
        by_groups(kernel, out, packed("2q", *STREAM), words(count), grid=(1,), group=(group,))
        expected, raw = list(range(count)), philox(SEED, OFFSET + np.arange(count)).reshape(-1).tolist()
        for i, word in zip(range(count - 1, 0, -1), raw, strict=False):
            j = word % (i + 1)
            expected[i], expected[j] = expected[j], expected[i]
        yield Check(f"of {count}", out, torch.tensor(expected, dtype=dtype))


@checks(r"randperm_dedup_islands_(?P<type>int|long)")
def randperm_islands(kernel, match):
    count = 300
    keys = torch.randint(0, 60, (count,), dtype=torch.int32).sort().values
    keys[-1] = 1000  # alone at the end
    data = torch.randperm(count).to(DTYPES[match["type"]])
    out = mps(data)
    kernel(out, mps(keys), packed("2q", *STREAM), words(count), threads=count)
    expected = data.tolist()
    _, lengths = torch.unique_consecutive(keys, return_counts=True)
    start = 0
    for length in lengths.tolist():
        raw = philox(SEED, OFFSET + start + np.arange(length)).reshape(-1).tolist()
        for i, word in zip(range(length - 1, 0, -1), raw, strict=False):
            i, j = start + i, start + word % (i + 1)
            expected[i], expected[j] = expected[j], expected[i]
        start += length
    yield Check("equal keys shuffled", out, torch.tensor(expected, dtype=data.dtype))


def gamma(alpha, element):
    """Marsaglia and Tsang's method, as the kernel draws for it."""
    if alpha == 0:
        return 0.0
    index = OFFSET + element * GAMMA_STRIDE
    raw = philox(SEED, index + np.arange(GAMMA_STRIDE))
    u = uniform(raw).astype(np.float64)
    draws = iter(range(GAMMA_STRIDE))
    scale = 1.0
    if alpha < 1:
        scale = (1 - u[next(draws), 0]) ** (1 / alpha)
        alpha += 1
    d = alpha - 1 / 3
    c = 1 / np.sqrt(9 * d)
    while True:
        first, second = 1 - u[next(draws), :2]
        x = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
        y = 1 + c * x
        if y <= 0:
            continue
        v = y**3
        test = 1 - u[next(draws), 0]
        if test < 1 - 0.0331 * x**4 or np.log(test) < 0.5 * x * x + d * (1 - v + np.log(v)):
            return max(scale * d * v, 1.1754943508222875e-38)


@checks(r"standard_gamma_(?P<type>float|half|bfloat)")
def standard_gamma(kernel, match):
    dtype = DTYPES[match["type"]]
    alpha = torch.cat([torch.rand(60) * 0.8 + 0.2, torch.rand(60) * 20 + 1, torch.tensor([0.0, 1.0])]).to(dtype)
    out = torch.empty_like(alpha, device="mps")
    kernel(out, mps(alpha), packed("2q", *STREAM), threads=alpha.numel())
    expected = torch.tensor([gamma(a, i) for i, a in enumerate(alpha.double().tolist())], dtype=torch.float64)
    # Small alphas are powers up to 5, and the angle of the normal number is a float32.
    yield Check("samples", out, expected.to(dtype), rtol=2 * rounding(dtype) + 1e-5)


@checks(r"standard_dirichlet_(?P<type>float|half|bfloat)")
def standard_dirichlet(kernel, match):
    dtype = DTYPES[match["type"]]
    for rows, columns in [(3, 40), (2, 1)]:
        alpha = (torch.rand(rows, columns) * 5 + 0.3).to(dtype)
        out = torch.empty_like(alpha, device="mps")
        by_groups(kernel, out, mps(alpha), packed("2q", *STREAM), words(columns), grid=(rows,), group=(columns,))
        samples = torch.tensor([gamma(a, i) for i, a in enumerate(alpha.double().flatten().tolist())])
        samples = samples.double().view(rows, columns)
        # The sum is of float32 numbers, what is divided was rounded to the type.
        expected = (samples.to(dtype).double() / samples.sum(1, keepdim=True)).clamp(1.18e-38, 1 - float(EPSILON))
        yield Check(f"{rows} rows of {columns}", out, expected.to(dtype), rtol=4 * rounding(dtype) + 2e-5)


@checks(r"standard_gamma_grad_(?P<type>float|half|bfloat)")
def standard_gamma_grad(kernel, match):
    dtype = DTYPES[match["type"]]
    alpha = (torch.rand(COUNT) * 15 + 0.1).to(dtype)
    sample = (alpha.float() * (torch.rand(COUNT) * 2 + 0.05)).to(dtype)
    out = torch.empty_like(alpha, device="mps")
    kernel(out, mps(alpha), mps(sample), threads=COUNT)
    expected = torch._standard_gamma_grad(alpha.double(), sample.double()).to(dtype)
    yield Check("gradients", out, expected, rtol=2 * rounding(dtype) + 2e-4)


@checks(r"dirichlet_grad_(?P<type>float|half|bfloat)")
def dirichlet_grad(kernel, match):
    dtype = DTYPES[match["type"]]
    alpha = (torch.rand(COUNT) * 10 + 0.2).to(dtype)
    total = (alpha.float() + torch.rand(COUNT) * 20 + 0.2).to(dtype)
    x = (torch.rand(COUNT) * 0.98 + 0.01).to(dtype)
    out = torch.empty_like(alpha, device="mps")
    kernel(out, mps(x), mps(alpha), mps(total), threads=COUNT)
    expected = torch._dirichlet_grad(x.double(), alpha.double(), total.double()).to(dtype)
    # The expansion for two large parameters takes differences of like terms, for which the CPU has double precision.
    far = (alpha > 6) & (total - alpha > 6)
    close = {"rtol": 2 * rounding(dtype) + 2e-4}
    yield Check("gradients", out.cpu()[~far], expected[~far], atol=1e-5, **close)
    yield Check("gradients for large parameters", out.cpu()[far], expected[far], rtol=0.05 + 2 * rounding(dtype))


STRIDE = 32  # numbers that an element may draw


class Draws:
    """The uniform numbers of one element, each of an index of its own."""

    def __init__(self, element: int):
        self._left = iter(uniform(philox(SEED, OFFSET + element * STRIDE + np.arange(STRIDE)))[:, 0].astype(np.float64))

    def __call__(self) -> float:
        return float(next(self._left))


def log_gamma(x: float) -> float:
    return float(torch.lgamma(torch.tensor(x, dtype=torch.float64)))


def poisson(rate: float, draw) -> float:
    """Knuth's method, and from 10 on Hoermann's (1993)."""
    if rate < 10:
        product, count = np.float32(1), -1
        while product > np.exp(-rate):
            product *= np.float32(draw())
            count += 1
        return count
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    while True:
        u, v = draw() - 0.5, 1 - draw()
        us = 0.5 - abs(u)
        k = np.floor((2 * a / us + b) * u + rate + 0.43)
        if k < 0 or (us < 0.013 and v > us):
            continue
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        ratio = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (us * us) + b))
        if ratio <= -rate + k * np.log(rate) - log_gamma(k + 1):
            return k


@checks(r"poisson_(?P<type>float|half|bfloat)", since="2.14")
def poisson_kernel(kernel, match):
    dtype = DTYPES[match["type"]]
    rates = torch.cat([torch.rand(60) * 5, torch.rand(60) * 100 + 10, torch.tensor([0.0, -1.0, float("nan"), 1e-3])])
    rates = rates.to(dtype)
    out = torch.empty_like(rates, device="mps")
    kernel(out, mps(rates), packed("2q", *STREAM), threads=rates.numel())
    expected = [poisson(rate, Draws(i)) if rate > 0 else 0 for i, rate in enumerate(rates.double().tolist())]
    yield Check("samples", out, torch.tensor(expected, dtype=torch.float64).to(dtype))


def stirling(k: float) -> float:
    """What Stirling's approximation of log k! leaves."""
    return log_gamma(k + 1) - ((k + 0.5) * np.log(k + 1) - (k + 1) + 0.5 * np.log(2 * np.pi))


def binomial(count: float, share: float, draw) -> float:
    """By geometric numbers, and where 10 are expected Hoermann's method (1993)."""
    if share > 0.5:
        return count - binomial(count, 1 - share, draw)
    if count * share < 10:
        passed, steps = 0.0, 0
        while True:
            passed += np.ceil(np.log(draw()) / np.log1p(-share))
            if passed > count:
                return steps
            steps += 1
    deviation = np.sqrt(count * share * (1 - share))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * share
    odds, m = share / (1 - share), np.floor((count + 1) * share)
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        k = np.floor((2 * a / us + b) * u + count * share + 0.5)
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        ratio = np.log(v * (2.83 + 5.1 / b) * deviation / (a / (us * us) + b))
        bound = (
            (m + 0.5) * np.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * np.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * np.log(odds * (count - k + 1) / (k + 1))
            + (stirling(m) + stirling(count - m) - stirling(k) - stirling(count - k))
        )
        if ratio <= bound:
            return k


@checks(r"standard_binomial_(?P<type>float|half|bfloat)", since="2.14")
def standard_binomial(kernel, match):
    dtype = DTYPES[match["type"]]
    counts = torch.cat([torch.randint(1, 20, (60,)), torch.randint(50, 250, (60,))]).to(dtype)
    shares = (torch.rand(120) * 0.9 + 0.05).to(dtype)
    out = torch.empty_like(counts, device="mps")
    kernel(out, mps(counts), mps(shares), packed("2q", *STREAM), threads=counts.numel())
    pairs = zip(counts.double().tolist(), shares.double().tolist(), strict=True)
    expected = [binomial(count, share, Draws(i)) for i, (count, share) in enumerate(pairs)]
    yield Check("samples", out, torch.tensor(expected, dtype=torch.float64).to(dtype))
