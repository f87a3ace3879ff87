"""The environment variables of PyTorch's MPS backend: unknown names, and values that come too late, are told."""

from __future__ import annotations

import atexit
import difflib
import os
import warnings

import torch

# What PyTorch reads, and when: as it is loaded, when the first tensor is made, or at the first use of what it is about.
_AT_FIRST_TENSOR = (
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
    "PYTORCH_MPS_LOW_WATERMARK_RATIO",
    "PYTORCH_DEBUG_MPS_ALLOCATOR",
)
_AT_FIRST_USE = ("PYTORCH_MPS_FAST_MATH", "PYTORCH_MPS_PREFER_METAL", "PYTORCH_MPS_DISABLE_PREFILL_ATTENTION")
# By the first release that reads them.
_ARRIVED = {(2, 15): ("PYTORCH_MPS_METAL_VERSION",)}
# What guides write of and PyTorch does not read.
_LOG_LEVEL = "PYTORCH_MPS_LOG_LEVEL"
_LOG_PROFILE_INFO = "PYTORCH_MPS_LOG_PROFILE_INFO"
_TRACE_SIGNPOSTS = "PYTORCH_MPS_TRACE_SIGNPOSTS"
_AT_LOAD = ("PYTORCH_ENABLE_MPS_FALLBACK", _LOG_PROFILE_INFO, _TRACE_SIGNPOSTS)
_RELEASE = tuple(int(part) for part in torch.__version__.split(".")[:2])
_HERE = tuple(name for release, names in _ARRIVED.items() if release <= _RELEASE for name in names)
KNOWN = (*_AT_LOAD, *_AT_FIRST_TENSOR, *_AT_FIRST_USE, *_HERE, _LOG_LEVEL)


def _is_of_mps(name: str) -> bool:
    return name.startswith("PYTORCH_MPS_") or (name.startswith("PYTORCH_") and "_MPS_" in name)


def _nearest_known(name: str) -> str | None:
    """The name that was meant, for one that only looks as if PyTorch's MPS backend read it."""
    if name in KNOWN or not _is_of_mps(name):
        return None
    return difflib.get_close_matches(name, KNOWN, n=1, cutoff=0)[0]


def _unknown(name: str, nearest: str) -> str:
    return f"PyTorch's MPS backend reads no {name}; the nearest that it reads is {nearest}"


def too_late(name: str, module) -> str | None:
    """What is to be said of a variable that gets a value now."""
    if name in _AT_LOAD:
        return f"{name} is read when torch is imported: set now, it does nothing. Set it before the program starts"
    if name in _AT_FIRST_TENSOR and module.memory_is_there():
        return f"{name} is read when the first tensor is made on mps, which was before: set now, it does nothing"
    return None


def _number(text: str) -> int:
    """As PyTorch reads it: 0x10 is 16, and what is no number is 0."""
    try:
        return int(text, 0)
    except ValueError:
        return 0


def attach(module) -> None:
    for name in sorted(os.environ):
        if name == _LOG_LEVEL:
            module.note_finding_at("", "environment-unread", name)
        elif nearest := _nearest_known(name):
            module.note_finding_at("", "environment-unknown", f"{name}: nearest is {nearest}")
            warnings.warn(_unknown(name, nearest), stacklevel=2)
    if (bits := _number(os.environ.get(_LOG_PROFILE_INFO, ""))) != 0:
        module.begin_profile_log(bits & 0xFFFFFFFF)
        atexit.register(module.end_profile_log)
    if _number(os.environ.get(_TRACE_SIGNPOSTS, "")) != 0:
        torch.mps.profiler.start("interval,event")
    # Values that nothing more is to be said of: what was read, and what was told. Programs put them back, too.
    settled = set(os.environ.items())
    # The one function that os.environ and its methods set a variable by.
    original = os.putenv

    def putenv(name, value, /):
        original(name, value)
        key = os.fsdecode(name)
        if not _is_of_mps(key):
            return
        if key == _LOG_LEVEL:
            module.set_log_level(_number(os.fsdecode(value)))
            module.note_finding("environment-unread", key)
        elif nearest := _nearest_known(key):
            module.note_finding("environment-unknown", f"{key}: nearest is {nearest}")
            # 1 is here, 2 is os.environ, 3 is who set it.
            warnings.warn(_unknown(key, nearest), stacklevel=3)
        elif (key, os.fsdecode(value)) not in settled and (text := too_late(key, module)):
            settled.add((key, os.fsdecode(value)))
            module.note_finding("environment-too-late", key)
            warnings.warn(text, stacklevel=3)

    os.putenv = putenv
