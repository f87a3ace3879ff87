"""anymps.retry_on_oom: once more, with the memory freed, where the device had none left."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

# Enough to halve any batch to nothing.
_MOST_ATTEMPTS = 64


def _is_out_of_memory(error: RuntimeError) -> bool:
    import torch

    # PyTorch's MPS allocator raises no OutOfMemoryError, but a RuntimeError with this text.
    return isinstance(error, torch.OutOfMemoryError) or str(error).startswith("MPS backend out of memory")


def _free() -> None:
    import torch

    gc.collect()
    if torch.accelerator.is_available():
        torch.accelerator.empty_cache()


@overload
def retry_on_oom(
    function: Callable[P, R],
    /,
    *,
    smaller: Callable[P, tuple[Any, ...] | None] | None = None,
    attempts: int | None = None,
) -> Callable[P, R]: ...


@overload
def retry_on_oom(
    *, smaller: Callable[..., tuple[Any, ...] | None] | None = None, attempts: int | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def retry_on_oom(function=None, /, *, smaller=None, attempts=None):
    """`function`, called again where the device is out of memory; a decorator, with or without arguments.

        output = anymps.retry_on_oom(model)(inputs)


        @anymps.retry_on_oom(smaller=lambda inputs, size: (inputs, size // 2) if size > 1 else None)
        def predict(inputs, size):
            return torch.cat([model(part) for part in inputs.split(size)])

    Out of memory is `torch.OutOfMemoryError` and the `RuntimeError` that PyTorch's MPS allocator raises; every other
    error passes. Before the next call garbage is collected and the device's cached memory given back.

    smaller: gets the arguments of the call that failed and returns all of those of the next, by position, as a tuple;
        None gives up. It runs before memory is freed, so it should return numbers and views rather than copies. Without
        it the same arguments are tried again, which helps where the cache or garbage was in the way.
    attempts: the most calls there are; 2 without `smaller`, and with it as many as it takes, up to 64.

    The last error is raised as it came. What `function` did before it failed is not undone, so let it begin what it
    repeats: a training step calls `zero_grad()` inside. No context manager can do this, as a `with` block runs once.
    """
    if attempts is None:
        attempts = 2 if smaller is None else _MOST_ATTEMPTS
    if attempts < 1:
        raise ValueError(f"attempts must be at least 1, got {attempts}")
    if function is None:
        return functools.partial(retry_on_oom, smaller=smaller, attempts=attempts)

    def until_it_fits(*args, **kwargs):
        for left in reversed(range(attempts)):
            try:
                return function(*args, **kwargs)
            except RuntimeError as error:
                if left == 0 or not _is_out_of_memory(error):
                    raise
                if smaller is not None:
                    arguments = smaller(*args, **kwargs)
                    if arguments is None:
                        raise
                    if not isinstance(arguments, tuple):
                        kind = type(arguments).__name__
                        raise TypeError(
                            f"smaller must return the next arguments as a tuple, or None; got {kind}"
                        ) from None
                    args, kwargs = arguments, {}
            # Out here the error is gone, and with it the frames that held what the call had made.
            _free()

    # A module is callable and has no __name__; update_wrapper takes what is there, but not a module's whole __dict__.
    return functools.update_wrapper(until_it_fits, function, updated=())
