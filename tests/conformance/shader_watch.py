"""Notices when a test asks for the shader compiler, so that such tests are counted apart.

The rule: a test needs the shader compiler when it calls one of these entry points, whatever comes of the call. That
needs no list of names, and it stays true when the compiler exists and the tests pass.
"""

from __future__ import annotations

import functools

# Attributes of torch._C that turn Metal source or a .metallib into kernels, or record what the GPU runs.
ENTRY_POINTS = (
    "_mps_compileShader",
    "_mps_loadMetalllib",
    "_mps_loadMetallibFromPath",
    "_mps_startCapture",
)

_used = False


def install() -> None:
    try:
        import torch
    except ImportError:
        return
    for name in ENTRY_POINTS:
        _watch(torch._C, name)
    _watch(torch, "compile")  # inductor writes Metal source
    import torch.utils.cpp_extension

    _watch(torch.utils.cpp_extension, "load_inline")  # the file's only inline extension brings Metal kernels along


def _watch(owner, name: str) -> None:
    real = getattr(owner, name, None)

    @functools.wraps(real or (lambda: None))
    def watched(*args, **kwargs):
        global _used
        _used = True
        if real is None:
            raise NotImplementedError(f"{name}: the shader compiler is not installed")
        return real(*args, **kwargs)

    setattr(owner, name, watched)


def reset() -> None:
    global _used
    _used = False


def used() -> bool:
    return _used
