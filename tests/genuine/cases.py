"""What an elementwise kernel must have written, and how far off it may be."""

import torch
from harness import Check
from launches import Output
from operators import Operator
from precision import allowed, flush, narrow, step, widen, with_positive_zeros


class Case:
    """One operator on operands of one type, with the type of its result."""

    def __init__(self, operator: Operator, natural: torch.dtype, alphas: tuple = ()):
        self.operator, self.natural, self.alphas = operator, natural, alphas

    def result(self, values: list[torch.Tensor]) -> torch.Tensor:
        operator = self.operator
        to_float = self.natural.is_floating_point and not operator.keeps_integers
        wide = [widen(value, to_float) for value in values]
        is_float = not values[0].dtype.is_complex and wide[0].is_floating_point()
        if operator.in_own_precision and (is_float or values[0].is_complex()):
            result = in_float(operator.reference, map(flush, values), self.alphas)
        elif operator.of_bools is not None and values[0].dtype == torch.bool:
            result = operator.of_bools(*values)
        else:
            result = operator.reference(*wide, *self.alphas)
        if operator.formula is not None and is_float:
            in_floats = in_float(operator.formula, (value.float() for value in wide), self.alphas)
            result = torch.where(any_is_hard(wide), in_floats.to(result.dtype), result)
        return narrow(result, self.natural)

    def check(self, what: str, output: Output, values: list[torch.Tensor]) -> Check:
        operator = self.operator
        ulps, own_ulps, atol = operator.ulps, operator.own_ulps, operator.atol
        if self.natural.is_complex and operator.complex_ulps is not None:
            ulps, own_ulps = operator.complex_ulps, operator.own_complex_ulps
            atol = operator.complex_atol + own_ulps * step(self.natural) / 4
        if not (output.dtype.is_floating_point or output.dtype.is_complex):
            ulps = own_ulps = atol = 0.0
        expected = output.expected(narrow(self.result(values), output.dtype))
        # What was rounded to a coarser type once stays off by a step of that when it is stored as a finer one.
        coarser = max(self.natural, output.dtype, key=step)
        tolerances = allowed(coarser, ulps, own_ulps, atol + operator.own_atol * step(coarser))
        got, expected = flush(output.got()), flush(expected)
        if not operator.sign_of_zero:
            got, expected = with_positive_zeros(got), with_positive_zeros(expected)
        return Check(what, got, expected, **tolerances)


def in_float(function, values, alphas) -> torch.Tensor:
    """Each step rounded and flushed, as on the device."""
    torch.set_flush_denormal(True)
    try:
        return function(*values, *alphas)
    finally:
        torch.set_flush_denormal(False)


def any_is_hard(values: list[torch.Tensor]) -> torch.Tensor:
    sizes = torch.stack([value.abs() for value in values])
    return (~(sizes < 1e4) | ((sizes < 1e-20) & (sizes > 0))).any(0)
