"""What checkers of kernels share: arguments as Metal's structs, group sizes, and what the GPU makes of denormals."""

import struct

import torch

DIMS = 16  # the most that PyTorch's kernels know, and the length of their arrays
FLUSHED = (torch.float32, torch.bfloat16, torch.complex64)


def packed(layout: str, *values) -> torch.Tensor:
    """A struct passed by value, in struct.pack's letters; with room for Metal's padding of three-component vectors."""
    data = struct.pack("<" + layout, *values)
    return torch.frombuffer(bytearray(data + bytes(-len(data) % 16)), dtype=torch.uint8).to("mps")


def padded(values, to: int = DIMS) -> list[int]:
    """As an array of a struct, which has room for the most dimensions."""
    return [*values, *[0] * (to - len(values))]


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


def words(x: torch.Tensor) -> torch.Tensor:
    """Of complex halves the words: torch on the CPU can move those."""
    return x.cpu().view(torch.int32) if x.dtype == torch.complex32 else x.cpu()


def no_errors() -> torch.Tensor:
    """A buffer of the kind that kernels report out-of-range indices into: a count, then the messages."""
    return torch.zeros(4 + 30 * 512, dtype=torch.uint8, device="mps")


def error_count(errors: torch.Tensor) -> torch.Tensor:
    return errors.cpu()[:4].view(torch.int32)[0].long()
