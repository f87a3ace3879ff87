"""The mps device for machines without an Apple GPU.

PyTorch finds this package through the ``torch.backends`` entry point: ``import torch`` is enough.
"""

from __future__ import annotations

import os
import sys

from anymps._float32 import to_float32
from anymps._memory import memory
from anymps._metallib import load_metallib, validate_metallib
from anymps._recorder import epoch, step
from anymps._retry import retry_on_oom
from anymps._validation import validating, validation_reports

__all__ = [
    "epoch",
    "in_heap",
    "library_path",
    "load_metallib",
    "memory",
    "retry_on_oom",
    "step",
    "to_float32",
    "validate_metallib",
    "validating",
    "validation_reports",
]


def _step_aside(reason: str) -> None:
    """One line, never an exception: PyTorch turns one from here into a failure of `import torch`."""
    if os.environ.get("ANYMPS_REQUIRED") == "1":
        print(f"anymps: {reason}; the mps device is not there, as ANYMPS_REQUIRED=1 asks for it", file=sys.stderr)
        os._exit(2)
    print(f"anymps: {reason}; stepping aside", file=sys.stderr)


def _autoload() -> None:
    """Called by `import torch`."""
    _load_device()
    if os.environ.get("ANYMPS_LAB"):
        # On a Mac, too: it records whichever device there is.
        from anymps import _lab

        _lab.install()


def _load_device() -> None:
    asked = os.environ.get("ANYMPS")
    if asked == "0" or sys.platform == "darwin":
        return
    import torch

    from anymps import _release

    if (problem := _release.problem()) is not None:
        _step_aside(problem)
        return
    if asked != "1" and torch.version.cuda is not None and torch.cuda.is_available():
        # A machine with a GPU of its own runs CUDA code; mps would only be in the way there.
        if os.environ.get("ANYMPS_REQUIRED") == "1":
            _step_aside("a CUDA GPU is visible (ANYMPS=1 or CUDA_VISIBLE_DEVICES= makes way for mps)")
        return
    # Where `anymps._C` is found from now on.
    __path__.append(_release.folder())
    from anymps import _attach

    try:
        _attach.attach()
    except _attach.NoSuchMac as error:
        _step_aside(str(error))
    except Exception as error:
        _step_aside(f"could not load the device ({type(error).__name__}: {error})")


def library_path() -> str:
    """The shared library that gives a C++ program on libtorch the mps device."""
    from anymps import _release

    return os.path.join(_release.folder(), "libanymps.so")


def in_heap(tensor) -> bool:
    """Whether the tensor's memory lies in the device's heap."""
    from anymps import _C

    return _C.in_heap(tensor)
