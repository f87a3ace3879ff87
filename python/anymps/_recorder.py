"""Tells the trace of a run when the training took a step.

`install()` hooks every optimiser at once, so that a script needs no line of ours. A loop without an optimiser calls
`anymps.step()` itself. Nothing here touches a tensor: a step that waited for the device would not be the user's step.
"""

from __future__ import annotations

import os
import threading
import time
from types import ModuleType
from typing import Any

from anymps import _lab

# gpu::TraceKind
_STEP = 1
_EPOCH = 2

# Set by install(). Importing the extension here instead would bring the device in where ANYMPS=0 keeps it out.
_trace: ModuleType | None = None
_installed_ns = 0
# Counts one step, where `anymps size` asks for it.
_step_counter: Any = None


class _Counter:
    """Steps at one line of the script in one thread: how many, and when the last one was."""

    __slots__ = ("count", "last_ns")

    def __init__(self) -> None:
        self.count = 0
        self.last_ns = _installed_ns


class _Counters(threading.local):
    def __init__(self) -> None:
        self.by_place: dict[tuple[int, str, str], _Counter] = {}


_counters = _Counters()


def _record(kind: int, name: str) -> None:
    if _trace is None:
        return
    site = _trace.call_site()
    counter = _counters.by_place.setdefault((kind, name, site), _Counter())
    now = time.monotonic_ns()
    _trace.trace_record(kind, name, site, counter.count, now - counter.last_ns)
    counter.count += 1
    counter.last_ns = now
    if kind == _STEP and _step_counter is not None:
        _step_counter.step_ended(name, site)


def step() -> None:
    """Marks the end of a step, for loops that no optimiser drives. Does nothing outside of `anymps run`."""
    _record(_STEP, "step")
    _lab.step()


def epoch() -> None:
    """Marks the end of an epoch. Does nothing outside of `anymps run`."""
    _record(_EPOCH, "epoch")
    _lab.epoch()


def _after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    import torch

    # Inside torch.compile the call would be traced, and break the graph.
    if not torch.compiler.is_compiling():
        _record(_STEP, type(optimizer).__name__)


def install() -> None:
    """Called once, when ANYMPS_RUN is set and the device is loaded."""
    global _trace, _installed_ns, _step_counter
    from torch.optim.optimizer import register_optimizer_step_post_hook

    from anymps import _C

    if not _C.trace_enabled():
        return
    _trace = _C
    _installed_ns = time.monotonic_ns()
    if os.environ.get("ANYMPS_COUNT_STEP") == "1":
        from anymps import _counter

        _step_counter = _counter.StepCounter(_C)
    register_optimizer_step_post_hook(_after_step)
