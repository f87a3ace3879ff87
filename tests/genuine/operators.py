"""What each elementwise operator of PyTorch's Metal library computes, in the CPU's words, and how exactly.

References get wide operands (double, complex double, int64) and give wide results. Without `ulps` a result must be the
wide one, rounded, to the bit. Where the kernel calls one function, `ulps` are those of the table of accuracy in Metal's
specification (chapter 8); where it is a formula they add up what its steps may lose. Approximations by polynomials are
PyTorch's own, and it promises nothing: the figure is what they lose in float at the operands here, rounded up.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy
import torch
from harness import is_since

aten, special = torch.ops.aten, torch.special
PI = torch.tensor(math.pi).item()  # as a float has it
Range = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Operator:
    reference: Callable[..., torch.Tensor]
    ulps: float = 0.0
    atol: float = 0.0  # where a result is a difference of larger numbers
    # More of both for half and bfloat, in their steps, where the kernel does not compute them as float.
    own_ulps: float = 0.0
    own_atol: float = 0.0
    complex_ulps: float | None = None  # of the modulus; None: as `ulps`
    complex_atol: float = 0.0
    own_complex_ulps: float = 0.0  # more, in the precision of half, of the modulus or of terms of about 1/4
    in_own_precision: bool = False  # the reference gets operands as they are: each of its steps rounds as the kernel's
    of_bools: Callable[..., torch.Tensor] | None = None  # the reference of bool, where that is not the one of 0 and 1
    keeps_integers: bool = False  # the result of integers is one, of their type
    overflows: bool = False  # of the least integer, and what then happens is not defined
    sign_of_zero: bool = True  # Metal leaves it open which of two zeros is the smaller one
    ranges: tuple[Range | None, ...] = (None, None)  # of ordinary operands
    half_range: Range | None = None  # of halves, where the formula overflows elsewhere
    half2_range: Range | None = None  # of both parts of complex halves, where it overflows or cancels elsewhere
    largest: float = math.inf  # of finite hard operands, where more than that leaves nothing of the result
    least_integer: int = -(2**63)  # of ordinary operands that are integers
    between: bool = False  # operands stay away from whole numbers, where the function has poles
    whole: tuple[bool, ...] = (False, False)  # operands that are whole numbers
    hard: bool = True  # infinities, NaN, zeros of both signs, huge and tiny numbers as well
    hard_complex: bool = False
    # What the kernel's formula gives in float, where that is not what mathematics says: used at hard operands alone.
    formula: Callable[..., torch.Tensor] | None = None
    divides: bool = False  # integers by 0 or the least one by -1: no language says what that is
    divisor: int = 1  # the operand by which they are divided
    scalars: tuple[float, ...] = ()  # values of alpha


def exact(reference, *bounds, **more) -> Operator:
    return Operator(reference, *bounds, keeps_integers=True, **more)


def real_or_complex(of_real, of_complex):
    return lambda x: of_complex(x) if x.is_complex() else of_real(x)


def both(modulus: torch.Tensor) -> torch.Tensor:
    return torch.complex(modulus, modulus)


def silu(x):
    if x.is_floating_point():
        return x / (1 + torch.exp(-x))
    return x.float() / (1 + torch.exp(-x.float()))  # truncated: float's rounding up of what is almost whole counts


def parts(function):
    """The function of the real and of the imaginary parts: torch's own of complex numbers loses signs of zeros."""

    def apply(*values):
        if not values[0].is_complex():
            return function(*values)
        return torch.view_as_complex(function(*(torch.view_as_real(value) for value in values)).contiguous())

    return apply


def conjugate(x):
    return torch.complex(x.real, -x.imag) if x.is_complex() else x


def absolute(x):
    # Metal's precise::abs has no integers: before 2.14 they go through float.
    return x.abs() if x.is_floating_point() or is_since("2.14") else x.float().abs()


def mish(x):
    return x * torch.tanh(torch.log1p(torch.exp(x)))


def log_sigmoid(x):
    return torch.minimum(x, torch.zeros_like(x)) - torch.log1p(torch.exp(-x.abs()))


UNARY = {
    "abs": exact(real_or_complex(absolute, lambda x: both(x.abs())), complex_ulps=4),
    # Of complex numbers these take the root of what cancels near 1, and the logarithm of what is near 1.
    "acos": Operator(
        torch.acos, 4, complex_ulps=2048, complex_atol=5e-7, own_complex_ulps=4, ranges=((-1, 1),), half2_range=(0.5, 1)
    ),
    "angle": Operator(
        real_or_complex(
            lambda x: torch.where(x.isnan(), x, (x < 0) * PI),
            lambda x: torch.complex(x.angle(), torch.zeros_like(x.real)),
        ),
        complex_ulps=6,
    ),
    "asin": Operator(
        torch.asin, 4, complex_ulps=2048, complex_atol=5e-7, own_complex_ulps=4, ranges=((-1, 1),), half2_range=(0.5, 1)
    ),
    "atan": Operator(torch.atan, 5, complex_ulps=64, own_complex_ulps=4),
    "bessel_j0_forward": Operator(special.bessel_j0, 16, 1e-6, own_atol=2, largest=100),
    "bessel_j1_forward": Operator(special.bessel_j1, 16, 1e-6, own_atol=2, largest=100),
    "bessel_y0_forward": Operator(special.bessel_y0, 16, 1e-6, own_atol=2, largest=100),
    "bessel_y1_forward": Operator(special.bessel_y1, 16, 1e-6, own_atol=2, largest=100),
    "bitwise_not": exact(torch.bitwise_not, of_bools=torch.logical_not),
    "ceil": exact(torch.ceil),
    "copy_conj": exact(conjugate, hard_complex=True),
    "copy_conj_neg": exact(lambda x: torch.complex(-x.real, x.imag), hard_complex=True),
    "copy_identity": exact(lambda x: x, hard_complex=True),
    "copy_neg": exact(parts(torch.neg), hard_complex=True, overflows=True),
    "cos": Operator(torch.cos, 4, complex_ulps=16, own_complex_ulps=2),
    "cosh": Operator(torch.cosh, 4, complex_ulps=16, own_complex_ulps=2),
    "digamma": Operator(torch.digamma, 64, 2e-6, ranges=((-9, 9),), between=True),
    "entr": Operator(special.entr, 8, own_ulps=1, ranges=((0, 9),)),
    "erf": Operator(torch.erf, 4),
    "erfc": Operator(torch.erfc, 4, 1e-7),
    "erfcx": Operator(special.erfcx, 64, own_ulps=2, largest=100),
    "erfinv": Operator(torch.erfinv, 16, own_ulps=1, ranges=((-1, 1),)),
    "exp": Operator(torch.exp, 4, complex_ulps=16, own_complex_ulps=2),
    "exp2": Operator(torch.exp2, 16, complex_ulps=32, own_complex_ulps=2),
    "expm1": Operator(torch.expm1, 4, 5e-7, complex_ulps=16, complex_atol=5e-7, own_complex_ulps=2),
    "floor": exact(torch.floor),
    "gelu": Operator(torch.nn.functional.gelu, 8, 3e-7),
    "gelu_tanh": Operator(lambda x: torch.nn.functional.gelu(x, approximate="tanh"), 16, 3e-7),
    "hardsigmoid": Operator(torch.nn.functional.hardsigmoid, 2),
    "hardswish": Operator(torch.nn.functional.hardswish, 3, formula=lambda x: x * (x + 3).clamp(0, 6) / 6),
    "i0": Operator(torch.i0, 8, own_ulps=1, ranges=((-80, 80),), half_range=(-10, 10)),
    "i0e": Operator(special.i0e, 8, own_ulps=1, ranges=((-80, 80),)),
    "i1": Operator(special.i1, 32, own_ulps=1, ranges=((-80, 80),), half_range=(-10, 10)),
    "i1e": Operator(special.i1e, 32, ranges=((-80, 80),)),
    "isneginf": exact(torch.isneginf),
    "isposinf": exact(torch.isposinf),
    "lgamma": Operator(  # of what is huge or negative it is a difference of infinities
        torch.lgamma,
        8,
        2e-6,
        ranges=((-9, 9),),
        between=True,
        formula=lambda x: torch.where(x.isinf() | (x < -1e38), math.nan, torch.lgamma(x)),
    ),
    "log": Operator(torch.log, 4, complex_ulps=16, own_complex_ulps=2),
    "log10": Operator(torch.log10, 4, complex_ulps=16, own_complex_ulps=2),
    "log1p": Operator(torch.log1p, 8, complex_ulps=16, own_complex_ulps=2),
    "log2": Operator(torch.log2, 4, complex_ulps=16, own_complex_ulps=2),
    "log_sigmoid_forward": Operator(log_sigmoid, 8, 1e-7, formula=log_sigmoid),
    "logical_not": exact(torch.logical_not, hard_complex=True),
    "mish": Operator(mish, 16, 3e-7, formula=mish),
    "modified_bessel_i0_forward": Operator(
        special.modified_bessel_i0, 8, own_ulps=1, ranges=((-80, 80),), half_range=(-10, 10)
    ),
    "modified_bessel_i1_forward": Operator(
        special.modified_bessel_i1, 32, own_ulps=1, ranges=((-80, 80),), half_range=(-10, 10)
    ),
    "modified_bessel_k0_forward": Operator(special.modified_bessel_k0, 32, own_ulps=2),
    "modified_bessel_k1_forward": Operator(special.modified_bessel_k1, 8, own_ulps=2),
    "neg": exact(parts(torch.neg), hard_complex=True, overflows=True),
    "reciprocal": Operator(torch.reciprocal, complex_ulps=8, own_complex_ulps=4),
    "relu": exact(lambda x: torch.where(x < 0, torch.zeros_like(x), x)),
    "round": exact(lambda x: x.round() if x.is_floating_point() else x),
    "rsqrt": Operator(torch.rsqrt, 2, own_ulps=2, complex_ulps=4096, own_complex_ulps=64, half2_range=(1, 4)),
    "scaled_modified_bessel_k0_forward": Operator(special.scaled_modified_bessel_k0, 32, own_ulps=2),
    "scaled_modified_bessel_k1_forward": Operator(special.scaled_modified_bessel_k1, 8, own_ulps=2),
    "sigmoid": Operator(torch.sigmoid, 8, complex_ulps=16, own_complex_ulps=4, half2_range=(-2, 2)),
    "silu": exact(silu, ulps=8),
    "sin": Operator(torch.sin, 4, complex_ulps=16, own_complex_ulps=2),
    "sinc": Operator(
        torch.sinc,
        8,
        1e-6,
        complex_ulps=64,
        own_complex_ulps=1,
        half2_range=(-1.5, 1.5),
        formula=lambda x: torch.where(x == 0, 1.0, torch.sin(PI * x) / (PI * x)),
    ),
    "sinh": Operator(torch.sinh, 4, complex_ulps=16, own_complex_ulps=2),
    "spherical_bessel_j0": Operator(special.spherical_bessel_j0, 8, own_ulps=8),
    "sqr": exact(torch.square, complex_ulps=4, own_complex_ulps=2, overflows=True),
    # (m - x) / 2 under the root cancels to its last bit, of which the root has half the digits.
    "sqrt": Operator(torch.sqrt, complex_ulps=2048, own_complex_ulps=32, half2_range=(1, 4)),
    "tan": Operator(torch.tan, 6, complex_ulps=32, own_complex_ulps=4, half2_range=(-1.4, 1.4)),
    "tanh": Operator(torch.tanh, 5, complex_ulps=32, own_complex_ulps=4, half2_range=(-1.4, 1.4)),
    "trunc": exact(torch.trunc),
    "trigamma": Operator(  # pi * x is rounded before its sine, of which nothing is left at whole numbers
        lambda x: torch.polygamma(1, x), 256, ranges=((-9, 9),), between=True, least_integer=1, hard=False
    ),
}


def softshrink(x, bound):
    return torch.where(x > bound, x - bound, torch.where(x < -bound, x + bound, x * 0))


def replaced(x, nan, positive, negative):
    """Of a complex number each part by itself."""
    if x.is_complex():
        return torch.view_as_complex(replaced(torch.view_as_real(x), nan, positive, negative))
    return torch.nan_to_num(x, nan, positive, negative)


def softplus(x, beta, threshold):
    return torch.where(x * beta > threshold, x, torch.log1p(torch.exp(x * beta)) / beta)


UNARY_ALPHA = {
    "clamp_max_scalar": exact(
        lambda x, most: torch.minimum(x, torch.as_tensor(most, dtype=x.dtype)), scalars=(1, 0), sign_of_zero=False
    ),
    "clamp_min_scalar": exact(
        lambda x, least: torch.maximum(x, torch.as_tensor(least, dtype=x.dtype)), scalars=(1, 0), sign_of_zero=False
    ),
    "clamp_scalar": exact(lambda x, least, most: torch.clamp(x, least, most), scalars=((0, 1),), sign_of_zero=False),
    "elu": Operator(aten.elu, 8, 1e-7, scalars=((1.5, 0.75, 1.25),)),
    "hardshrink": exact(lambda x, bound: torch.where(x.abs() <= bound, 0.0, x), scalars=(0.5, 2.0)),
    "leaky_relu": exact(torch.nn.functional.leaky_relu, scalars=(0.125, 0.5)),
    "nan_to_num": exact(replaced, hard_complex=True, scalars=((0.5, 3.0, -2.0),)),
    "polygamma": Operator(lambda x, order: torch.polygamma(int(order), x), 128, scalars=(2, 3), ranges=((0.5, 9),)),
    "pow_scalar": exact(torch.pow, ulps=16, complex_ulps=32, own_complex_ulps=4, scalars=(3, 5), ranges=((0, 4),)),
    "round_decimals": Operator(
        lambda x, digits: x.round(decimals=int(digits)),
        4,
        own_ulps=4,
        scalars=(1, 2, -1),
        formula=lambda x, digits: (10.0**digits * x).round() * 10.0**-digits,
    ),
    "softplus": Operator(softplus, 16, 1e-7, formula=softplus, scalars=((1.0, 20.0), (2.0, 1.5))),
    "softshrink": exact(softshrink, scalars=(0.5, 2.0)),
}


def polynomial(reference, size: float) -> Operator:
    """By recurrence, whose terms are of about that size."""
    ranges = ((-1.25, 1.25), (0, 9))
    return Operator(
        reference, 64, 4e-6 * size, own_ulps=2, own_atol=0.5, ranges=ranges, whole=(False, True), hard=False
    )


def divide_and_floor(a, b):
    if not a.is_floating_point():
        return torch.div(a, b, rounding_mode="floor")
    if is_since("2.14"):
        return torch.div(a.float(), b.float(), rounding_mode="floor")
    return floor_of_quotient(a, b)


def floor_of_quotient(a, b):
    return (a.float() / b.float()).floor()  # not torch's, which starts from the remainder


def remainder(a, b):
    if not a.is_floating_point():
        return torch.remainder(a, b)
    return a.double() - b.double() * floor_of_quotient(a, b).double()  # in one rounding


def gelu_backward(grad, x):
    return grad * (0.5 * (1 + torch.erf(x * math.sqrt(0.5))) + x * torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))


def gelu_tanh_backward(grad, x):
    beta, kappa = math.sqrt(2 / math.pi), 0.044715
    tanh = torch.tanh(beta * (x + kappa * x * (x * x)))
    return grad * (0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * (beta * (1 + 3 * kappa * (x * x))))


def hypot(a, b):
    if is_since("2.14"):  # in double: torch's own of floats loses what flushing denormals takes
        return torch.hypot(a.double(), b.double())
    return torch.sqrt(a * a + b * b)


def log_add_exp(a, b):
    if a.is_complex():  # of two numbers with the same real part the kernel takes the second for both
        a = torch.where(a.real == b.real, b, a)
    return torch.logaddexp(a, b)


def next_after(a, b):
    if a.dtype == torch.float16:
        return torch.from_numpy(numpy.nextafter(a.numpy(), b.numpy()))
    if is_since("2.14"):
        return torch.nextafter(a, b)
    return torch.nextafter(a.float(), b.float())  # Metal has none of bfloat


def glu(a, b):
    return a / (1 + torch.exp(-b))


def log_sigmoid_backward(x, grad):
    small = torch.exp(-x.abs())
    share = small / (1 + small)
    return grad * torch.where(x < 0, 1 - share, share)


def mish_backward(grad, x):
    sigmoid, tanh = 1 / (1 + torch.exp(-x)), torch.tanh(torch.log1p(torch.exp(x)))
    return grad * (tanh + x * sigmoid * (1 - tanh * tanh))


def sigmoid_backward(grad, result):
    if result.is_complex():
        return grad * ((1 - result) * result).conj().resolve_conj()
    return grad * (1 - result) * result


def tanh_backward(grad, result):
    return grad * (1 - result * result).conj().resolve_conj()


BINARY = {
    "add": exact(parts(torch.add), hard_complex=True),
    "atan2": Operator(torch.atan2, 6),
    "bitwise_and": exact(torch.bitwise_and),
    "bitwise_left_shift": exact(lambda a, b: a << b, ranges=(None, (0, 7)), whole=(False, True), hard=False),
    "bitwise_or": exact(torch.bitwise_or),
    "bitwise_right_shift": exact(lambda a, b: a >> b, ranges=(None, (0, 7)), whole=(False, True), hard=False),
    "bitwise_xor": exact(torch.bitwise_xor),
    **{
        f"{shifted}chebyshev_polynomial_{kind}": polynomial(
            getattr(special, f"{shifted}chebyshev_polynomial_{kind}"), 20
        )
        for shifted in ("", "shifted_")
        for kind in "tuvw"
    },
    "copysign": Operator(torch.copysign),
    "div_floor": exact(divide_and_floor, in_own_precision=True, divides=True),
    "div_true": Operator(torch.div, complex_ulps=8),
    "div_trunc": exact(
        lambda a, b: torch.div(a, b, rounding_mode="trunc") if not a.is_floating_point() else (a / b).trunc(),
        in_own_precision=True,
        divides=True,
    ),
    "eq": exact(torch.eq, hard_complex=True),
    "fmax": exact(torch.fmax, sign_of_zero=False),
    "fmin": exact(torch.fmin, sign_of_zero=False),
    "fmod": exact(torch.fmod, divides=True),
    "gcd": exact(torch.gcd, overflows=True),
    "ge": exact(torch.ge),
    "gelu_backward": Operator(
        lambda grad, x: aten.gelu_backward(grad, x), 16, 4e-6, largest=100, formula=gelu_backward
    ),
    "gelu_tanh_backward": Operator(
        lambda grad, x: aten.gelu_backward(grad, x, approximate="tanh"),
        16,
        4e-6,
        largest=100,
        formula=gelu_tanh_backward,
    ),
    "gt": exact(torch.gt),
    "glu": Operator(glu, 8, formula=glu),
    "hardsigmoid_backward": Operator(aten.hardsigmoid_backward, 2),
    "hardswish_backward": Operator(
        aten.hardswish_backward,
        4,
        1e-6,
        formula=lambda grad, x: torch.where(x <= -3, 0.0, torch.where(x >= 3, grad, grad * (x / 3 + 0.5))),
    ),
    "heaviside": exact(torch.heaviside),
    "hermite_polynomial_h": polynomial(special.hermite_polynomial_h, 1e3),
    "hermite_polynomial_he": polynomial(special.hermite_polynomial_he, 50),
    "hypot": Operator(torch.hypot, 2, formula=hypot),
    "igamma": Operator(special.gammainc, 16, 1e-6, ranges=((0.1, 9), (0.1, 9)), hard=False),
    "igammac": Operator(special.gammaincc, 16, 1e-6, ranges=((0.1, 9), (0.1, 9)), hard=False),
    "laguerre_polynomial_l": polynomial(special.laguerre_polynomial_l, 1e3),
    "lcm": exact(torch.lcm, hard=False),
    "le": exact(torch.le),
    "log_sigmoid_backward": Operator(log_sigmoid_backward, 8, 1e-7, formula=log_sigmoid_backward),
    "logaddexp": Operator(log_add_exp, 8, 1e-7, complex_ulps=32),
    "logaddexp2": Operator(torch.logaddexp2, 16, 1e-7),
    "logical_and": exact(torch.logical_and, hard_complex=True),
    "logical_or": exact(torch.logical_or, hard_complex=True),
    "logical_xor": exact(torch.logical_xor, hard_complex=True),
    "lt": exact(torch.lt),
    "make_complex": exact(torch.complex),
    "maximum": exact(torch.maximum, sign_of_zero=False),
    "minimum": exact(torch.minimum, sign_of_zero=False),
    "mish_backward": Operator(mish_backward, 16, 2e-6, largest=80, formula=mish_backward),
    "mul": exact(torch.mul, complex_ulps=4),
    "ne": exact(torch.ne, hard_complex=True),
    "nextafter": exact(next_after, in_own_precision=True, sign_of_zero=False),
    "polar": Operator(torch.polar, 8, own_ulps=1),
    "pow": exact(
        torch.pow,
        ulps=16,
        complex_ulps=256,
        own_complex_ulps=4,
        ranges=((0, 4), (0, 5)),
        hard=False,
        half2_range=(0.5, 1.5),
    ),
    "remainder": exact(remainder, 1, 1e-6, in_own_precision=True, divides=True),
    "sigmoid_backward": Operator(
        sigmoid_backward, 8, 1e-7, complex_ulps=16, own_complex_ulps=8, formula=sigmoid_backward
    ),
    "silu_backward": Operator(
        aten.silu_backward,
        16,
        1e-6,
        largest=100,
        formula=lambda grad, x: grad * (sigmoid := 1 / (1 + torch.exp(-x))) * (1 + x - x * sigmoid),
    ),
    "sub": exact(parts(torch.sub), hard_complex=True),
    "tanh_backward": Operator(tanh_backward, 8, 1e-7, complex_ulps=16, own_complex_ulps=8, formula=tanh_backward),
    "xlog1py": Operator(special.xlog1py, 8, ranges=(None, (-0.9, 9))),
    "xlogy": Operator(torch.xlogy, 6, ranges=(None, (0, 9))),
    "zeta": Operator(special.zeta, 16, own_ulps=1, ranges=((1.25, 9), (0.25, 9)), hard=False),
}


def elu_backward(grad, x, alpha, scale, input_scale, is_result):
    below = input_scale * (x + alpha * scale) if is_result else input_scale * alpha * scale * torch.exp(x * input_scale)
    return grad * torch.where(x <= 0, below, torch.full_like(x, scale))


def times(a, b):
    """Each part of a complex product by itself, as the kernels have it."""
    if not a.is_complex():
        return a * b
    return torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def plus_times(a, alpha, b, sign=1):
    return parts(torch.add)(a, sign * times(torch.full_like(b, alpha), b))


def logit_backward(grad, x, eps):
    inside = grad / (x * (1 - x))
    if eps < 0:
        return torch.where((x < 0) | (x > 1), math.nan, inside)
    return torch.where((x < eps) | (x > 1 - eps), torch.zeros_like(inside), inside)


def softplus_backward(grad, x, beta, threshold):
    z = torch.exp(x * beta)
    return torch.where(x * beta > threshold, grad, grad * z / (z + 1))


BINARY_ALPHA = {
    "add_alpha": exact(lambda a, b, alpha: plus_times(a, alpha, b), in_own_precision=True, scalars=(3, -0.5)),
    "elu_backward": Operator(
        elu_backward, 16, 1e-6, formula=elu_backward, scalars=((1.5, 0.75, 1.25, True), (1.5, 0.75, 1.25, False))
    ),
    "leaky_relu_backward": exact(lambda x, grad, slope: torch.where(x > 0, grad, grad * slope), scalars=(0.125,)),
    "lerp_alpha": exact(
        lambda a, b, alpha: plus_times(a, alpha, parts(torch.sub)(b, a)), in_own_precision=True, scalars=(3, 0.25)
    ),
    "lerp_alpha since 2.15": exact(
        lambda a, b, alpha: from_the_nearer_end(a, b, torch.full_like(b, alpha)),
        4,
        4e-6,
        complex_ulps=8,
        complex_atol=4e-6,
        own_complex_ulps=4,
        scalars=(3, 0.25),
        hard=False,
    ),
    "logit_backward": Operator(logit_backward, 8, ranges=(None, (0.05, 0.95)), hard=False, scalars=(-1.0, 0.125)),
    "shrink_backward": exact(lambda grad, x, bound: torch.where(x.abs() <= bound, 0.0, grad), scalars=(0.5, 2.0)),
    "softplus_backward": Operator(
        softplus_backward, 16, 1e-7, largest=80, formula=softplus_backward, scalars=((1.0, 20.0), (2.0, 1.5))
    ),
    "sub_alpha": exact(lambda a, b, alpha: plus_times(a, alpha, b, -1), in_own_precision=True, scalars=(3, -0.5)),
}


def lerp(start, end, weight):
    if not start.is_floating_point():
        return start + times(weight, end - start)
    step = (end.float() - start.float()) if start.dtype == torch.bfloat16 else end - start
    return start.double() + weight.double() * step.double()  # one rounding: the kernel has a fused operation


def from_the_nearer_end(start, end, weight):
    if start.is_floating_point() or start.is_complex():
        return torch.lerp(start, end, weight)
    return start + weight * (end - start)


TERNARY = {
    "addcdiv": Operator(
        lambda a, b, c, alpha: a + (alpha * b) / c,
        4,
        1e-5,
        complex_ulps=32,
        complex_atol=1e-4,
        own_complex_ulps=4,
        ranges=(None, None, (0.5, 9)),
        whole=(False, False, False),
        hard=False,
        divides=True,
        divisor=2,
        scalars=(1, 2.5),
    ),
    "addcmul": exact(
        lambda a, b, c, alpha: a + (alpha * b) * c,
        4,
        2e-5,
        complex_ulps=16,
        complex_atol=1e-4,
        own_complex_ulps=4,
        ranges=(None, None, None),
        whole=(False, False, False),
        hard=False,
        scalars=(1, 2.5),
    ),
    "clamp": exact(lambda x, least, most: torch.minimum(torch.maximum(x, least), most), sign_of_zero=False),
    # Of the two ends it starts from the nearer one.
    "lerp": exact(from_the_nearer_end, 4, 2e-6, complex_ulps=8, complex_atol=4e-6, own_complex_ulps=2, hard=False),
    "lerp_tensor": exact(lerp, 1, complex_ulps=4, complex_atol=2e-6, in_own_precision=True, hard=False),
}
