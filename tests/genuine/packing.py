"""How arguments travel: structs and small vectors as buffers, grids counted in threadgroups."""

import struct

import torch

DIMS = 16  # the most that PyTorch's kernels know, and the length of their arrays
HALF_STEP = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8, torch.complex64: 2.0**-24}


def mps(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to("mps")


def packed(layout: str, *values: float) -> torch.Tensor:
    """A struct that host code passes by value; the layout is struct.pack's, with C's alignment.

    There is room behind it for Metal's padding of vectors of three.
    """
    data = struct.pack("@" + layout, *values)
    return mps(torch.frombuffer(bytearray(data + bytes(-len(data) % 16)), dtype=torch.uint8))


def with_specials(values: torch.Tensor) -> torch.Tensor:
    """The same with NaN, infinities, zeros of both signs and denormals, for sums: large numbers would overflow."""
    specials = torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-40], dtype=values.dtype)
    changed = values.clone()
    places = torch.randperm(values.numel())[: len(specials)]
    changed.view(-1)[places] = specials[: len(places)]
    return changed


def words(*values: int) -> torch.Tensor:
    """uint, uint2, ... or an array of them."""
    return packed(f"{len(values)}I", *values)


def padded(values, count: int = DIMS) -> list[int]:
    """The fixed array of a struct, of which only the front is used."""
    values = list(values)
    return values + [0] * (count - len(values))


def by_groups(kernel, *arguments, grid, group, **options) -> None:
    """dispatchThreadgroups: the grid counts groups, not threads."""
    kernel(*arguments, threads=[g * s for g, s in zip(grid, group, strict=True)], group_size=list(group), **options)


def rounding(dtype: torch.dtype) -> float:
    """The relative error of a result that is rounded to the type, and a little for what came before."""
    return HALF_STEP[dtype] * 1.001


# c10::metal::ErrorMessages: a count, then messages of file, function, text and line.
_ERROR_COUNT, _ERROR_FILE, _ERROR_FUNCTION, _ERROR_MESSAGE = 4, 128, 128, 252
_ERROR_MESSAGES = 30


def error_buffer() -> torch.Tensor:
    size = _ERROR_FILE + _ERROR_FUNCTION + _ERROR_MESSAGE + 4
    return torch.zeros(_ERROR_COUNT + _ERROR_MESSAGES * size, dtype=torch.uint8, device="mps")


def errors_in(buffer: torch.Tensor) -> tuple[torch.Tensor, bytes]:
    """How many errors kernels reported, and the text of the first."""
    data = buffer.cpu()
    text = data[_ERROR_COUNT + _ERROR_FILE + _ERROR_FUNCTION :][:_ERROR_MESSAGE].numpy().tobytes()
    return data[:_ERROR_COUNT].view(torch.int32), text.split(b"\0")[0]


def error_count(buffer: torch.Tensor) -> torch.Tensor:
    return errors_in(buffer)[0][0].long()


def as_bytes(text: bytes) -> torch.Tensor:
    return torch.tensor(list(text), dtype=torch.uint8)
