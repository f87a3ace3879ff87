"""How numbers become wider for a reference, and narrow again as Metal narrows them."""

import torch

FLUSHED = (torch.float32, torch.bfloat16, torch.complex64)  # a denormal counts as zero; half keeps its own
_TINY = 2.0**-126
# The step after 1 where that is coarser than float's: a result may be off by it where float was off by the least bit.
_STEP = {torch.float16: 2.0**-10, torch.complex32: 2.0**-10, torch.bfloat16: 2.0**-7}


def step(dtype: torch.dtype) -> float:
    return _STEP.get(dtype, 0.0)


def flush(values: torch.Tensor) -> torch.Tensor:
    """Denormals as zeros of their sign."""
    if values.dtype not in FLUSHED:
        return values
    if values.is_complex():
        return torch.view_as_complex(flush(torch.view_as_real(values)))
    return torch.where(values.abs() < _TINY, torch.copysign(torch.zeros_like(values), values), values)


def widen(values: torch.Tensor, integers_as_floats: bool) -> torch.Tensor:
    """To double, complex double or int64; integers to the float that kernels make of them, where they do."""
    if values.is_complex():
        return flush(values).to(torch.complex128)
    if values.is_floating_point():
        return flush(values).double()
    return values.to(torch.int64).float().double() if integers_as_floats else values.to(torch.int64)


def narrow(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """To what the kernel stores: half and bfloat come from float; integers wrap, but floats saturate in them."""
    if values.dtype == dtype:
        return values
    if dtype.is_complex:
        wide = (
            values.to(torch.complex64)
            if values.is_complex()
            else torch.complex(values.float(), torch.zeros(len(values)))
        )
        return flush(wide).to(dtype)
    if dtype == torch.bool:
        return values != 0
    if values.is_complex():
        values = values.real
    if dtype.is_floating_point:
        return flush(values.float()).to(dtype)
    if values.is_floating_point():
        info = torch.iinfo(dtype)
        whole = values.double().nan_to_num(nan=0.0).trunc()
        # The largest int64 is no double; the nearest below it stands for all that is larger.
        inside = whole.clamp(float(info.min), min(float(info.max), 2.0**63 - 1024)).to(torch.int64)
        values = torch.where(whole >= float(info.max), info.max if info.max < 2**63 else 2**63 - 1, inside)
    return values.to(dtype)


def allowed(dtype: torch.dtype, ulps: float, own_ulps: float, atol: float) -> dict[str, float]:
    """Tolerances for a kernel that is `ulps` of float off and `own_ulps` of the type, before it rounds to the type."""
    if not ulps and not own_ulps and not atol:
        return {}
    least = 2.0**-24 if dtype in (torch.float16, torch.complex32) else _TINY
    return {"rtol": ulps * 2.0**-23 + (own_ulps + 1) * step(dtype), "atol": atol + least}


def with_positive_zeros(values: torch.Tensor) -> torch.Tensor:
    return values + torch.zeros((), dtype=values.dtype) if values.is_floating_point() else values
