"""What checkers of kernels share: outputs, group sizes, and what the GPU makes of denormals."""

import torch

FLUSHED = (torch.float32, torch.bfloat16, torch.complex64)


def strides_of(shape) -> list[int]:
    return list(torch.empty(shape, device="meta").stride())


def blank(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """An output that no kernel has written: full of a value that is unlikely to be right."""
    return torch.full(shape, 99).to(dtype).to("mps")


def ceil_div(count: int, by: int) -> int:
    return -(-count // by)


def round_up(count: int, to: int) -> int:
    return ceil_div(count, to) * to


def flushed(x: torch.Tensor) -> torch.Tensor:
    """x as a kernel computes with it: denormals of float and bfloat are zeros of their sign; half keeps its own."""
    if x.is_complex():
        return torch.view_as_complex(flushed(torch.view_as_real(x))) if x.dtype in FLUSHED else x
    if x.dtype not in FLUSHED:
        return x
    smallest = torch.finfo(x.dtype).smallest_normal
    return torch.where(x.abs() < smallest, torch.copysign(torch.zeros_like(x), x), x)


def widest(x: torch.Tensor) -> torch.Tensor:
    """In double, or in the integers of 64 bits, which wrap to narrower ones."""
    if x.is_complex():
        return x.to(torch.complex128)
    return x.double() if x.is_floating_point() else x.long()


def as_words(x: torch.Tensor) -> torch.Tensor:
    """Of complex halves and of floats of 8 bits the words: torch on the CPU can move those."""
    words = {torch.complex32: torch.int32, torch.float8_e4m3fn: torch.uint8}
    return x.cpu().view(words[x.dtype]) if x.dtype in words else x.cpu()
