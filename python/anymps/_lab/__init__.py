"""What the commands of the runbook record of a training script: plain Python over PyTorch's own hooks.

It needs nothing but the standard library and torch, so that it records the same on a Mac's own device, on the one that
anymps provides, and on a machine that a bundle was handed to. `import torch` brings it in where anymps is installed and
ANYMPS_LAB names a folder; elsewhere `python -m` this package runs a script under it. The script needs no line of ours:
steps are seen through the hooks of all optimisers, input through the DataLoader.

Each process writes lines of JSON into a file of its own, each by one write, so that a kill loses none before it; the
events are read by src/lab/runbook/trial/recording.cpp. ANYMPS_LAB_SPEC says what is wanted (spec.py).
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import signal
import sys
from typing import Any

_recorder: Any = None


def step() -> None:
    """anymps.step(), for loops without an optimiser."""
    if _recorder is not None:
        _recorder.after_step(None, "step")


def epoch() -> None:
    """anymps.epoch()."""
    if _recorder is not None:
        _recorder.epoch("script")


def is_installed() -> bool:
    return _recorder is not None


def _die_with(lab: int) -> None:
    """A lab that is killed leaves no training behind; on other systems the script finds out at its next step."""
    if lab == 0:
        return
    if sys.platform == "linux" and os.getppid() == lab:
        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    try:
        os.kill(lab, 0)
    except ProcessLookupError:
        os._exit(137)  # it went while torch was imported


def install() -> None:
    """Once a process, when torch is imported and ANYMPS_LAB is set."""
    global _recorder
    folder = os.environ.get("ANYMPS_LAB")
    if not folder or _recorder is not None:
        return
    import torch
    from torch.optim.optimizer import register_optimizer_step_post_hook

    from . import hooks, loader
    from .recorder import Recorder

    _die_with(int(os.environ.get("ANYMPS_LAB_PARENT", "0")))
    recorder = _recorder = Recorder(folder, json.loads(os.environ.get("ANYMPS_LAB_SPEC", "{}")))
    # A spawned worker of a loader imports torch, too; it must not be taken for the script.
    recorder.is_child = any("spawn_main" in word or "forkserver" in word for word in sys.orig_argv)
    recorder.begin()

    def after_step(optimizer, arguments, keywords) -> None:
        # Inside torch.compile the call would be traced, and break the graph.
        if not torch.compiler.is_compiling():
            recorder.after_step(optimizer, type(optimizer).__name__)

    register_optimizer_step_post_hook(after_step)
    spec = recorder.spec
    watch = loader.LoaderWatch(recorder)
    watch.install()
    hooks.watch_backward(recorder)
    hooks.note_what_is_used(recorder)
    if spec["waits"]:
        hooks.time_waits(recorder)
    if spec["mode"] == "data":
        recorder.takes_over = watch.only_load
    if spec["mode"] == "forward":
        call = hooks.ModelCall(recorder)
        call.install()
        recorder.takes_over = call.only_forward
    if spec["mode"] == "parity":
        hooks.keep_values(recorder)
        hooks.remember_unscaled_losses()
    if spec["seed"] is not None:
        hooks.seed_all(spec["seed"])
    if spec["no_dropout"]:
        hooks.without_dropout()
    os.register_at_fork(after_in_child=recorder.after_fork)
    atexit.register(recorder.script_ended)
