"""The recorder: steps, epochs and the end of a script, as its hooks tell them."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import platform
import signal
import sys
import time
from typing import Any

from .frames import UserFrames
from .lines import Lines, open_descriptors, resident_bytes
from .live_tensors import LiveTensors
from .memory import DeviceMemory
from .spec import DEFAULTS

_FEWEST_STEPS = 3


class WindowOver(SystemExit):
    """Ends the script when all is recorded: its own cleaning up runs."""


class Recorder:
    def __init__(self, folder: str, spec: dict[str, Any]) -> None:
        self.spec = DEFAULTS | spec
        self.lines = Lines(folder)
        self.memory = DeviceMemory()
        self.frames = UserFrames()
        self.steps = 0
        self.epochs = 0
        self.steps_in_epoch = 0
        # Since the last step.
        self.backwards = 0
        self.samples = 0
        self.input_ns = 0
        self.takes_over: Any = None  # what runs instead of the script, after its first step
        self.live: LiveTensors | None = None
        self.wait_rows: dict[tuple[str, str], list[int]] = {}
        self.is_child = False  # of the script: a loader's worker, mostly
        self._optimizers: dict[int, int] = {}
        self._epoch_began = time.monotonic_ns()
        self._epochs_by = ""  # who tells them: the first that did
        self._facts: dict[str, Any] = {}
        self._over = False
        self._parent = os.getppid()
        self._stacks: Any = None
        self._window_began = 0.0

    def begin(self) -> None:
        import torch

        self.lines.open()
        # The lab asks by this signal where a process hangs.
        with contextlib.suppress(ValueError, OSError):
            self._stacks = open(os.path.join(self.lines.folder, f"{self.lines.pid}.stacks"), "w")  # noqa: SIM115
            faulthandler.register(signal.SIGUSR1, file=self._stacks, all_threads=True, chain=False)
        self.lines.event(
            "begin",
            role="child" if self.is_child else "main",
            pid=os.getpid(),
            parent=os.getppid(),
            wall=time.time(),
            argv=sys.orig_argv,
            python=platform.python_version(),
            executable=sys.executable,
            machine=platform.machine(),
            system=platform.platform(),
            torch=torch.__version__,
            torch_commit=torch.version.git_version,
            threads=torch.get_num_threads(),
            simulated="anymps._C" in sys.modules,
            mode=self.spec["mode"],
        )

    def after_fork(self) -> None:
        self.is_child = True
        self._parent = os.getppid()
        self.begin()

    def fact(self, key: str, value: Any) -> None:
        if self._facts.get(key) != value:
            self._facts[key] = value
            self.lines.event("fact", k=key, v=value)

    def first_activity(self) -> None:
        """The script began to train: what it spent before is no part of its first step."""
        if "first_activity_ns" not in self._facts:
            self.fact("first_activity_ns", time.monotonic_ns())

    def has_fact(self, key: str) -> bool:
        return key in self._facts

    def _first_step_facts(self, optimizer) -> None:
        import multiprocessing

        import torch

        device = "cpu"
        if optimizer is not None and optimizer.param_groups and optimizer.param_groups[0]["params"]:
            device = optimizer.param_groups[0]["params"][0].device.type
        elif torch.backends.mps.is_available() and torch.mps.current_allocated_memory() > 0:
            device = "mps"
        self.memory.device = device
        self.fact("device", device)
        if device == "mps":
            recommended = torch.mps.recommended_max_memory()
            self.fact("recommended", recommended)
            # PyTorch's default, unless the environment says otherwise.
            with contextlib.suppress(ValueError):
                ratio = float(os.environ.get("PYTORCH_MPS_HIGH_WATERMARK_RATIO") or "1.7")
                self.fact("limit", int(ratio * recommended))
            name = getattr(torch._C, "_mps_get_name", None)
            self.fact("device_name", name() if name else platform.processor())
        self.fact("seed", torch.initial_seed())
        self.fact("deterministic", torch.are_deterministic_algorithms_enabled())
        self.fact("fallback", os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK") == "1")
        self.fact("start_method", multiprocessing.get_start_method(allow_none=True) or "default")
        self.fact("optimizer", type(optimizer).__name__ if optimizer is not None else None)

    def is_idle(self) -> bool:
        return self._over or os.getpid() != self.lines.pid

    def after_step(self, optimizer, name: str) -> None:
        now = time.monotonic_ns()
        if self.is_idle():
            return
        # Of several optimisers the first one's steps are the script's.
        if self._optimizers.setdefault(id(optimizer), len(self._optimizers)) != 0:
            return
        if self.steps == 0:
            self._first_step_facts(optimizer)
        if os.getppid() != self._parent:
            os._exit(137)  # nobody waits for this any more
        memory = self.memory
        site = f',"site":{json.dumps(self.frames.site(sys._getframe(1)))}' if self.spec["lines"] else ""
        self.lines.write(
            f'{{"e":"step","t":{now},"i":{self.steps},"name":"{name}","n":{self.samples},"in":{self.input_ns},'
            f'"back":{self.backwards},"mem":{memory.tensors()},"drv":{memory.driver()}{site}}}'
        )
        if self.backwards > 1:
            self.fact("accumulation", self.backwards)
        self.steps += 1
        self.steps_in_epoch += 1
        self.samples = self.input_ns = self.backwards = 0
        if self.takes_over is not None:
            self.takes_over()
            self.end("window")
        if self.spec["steps"] is not None:
            self._mark_window(max(1, self.spec["warm_up"]))
        if self.spec["epoch_steps"] and self.steps_in_epoch >= self.spec["epoch_steps"]:
            self.epoch("steps")

    def _mark_window(self, warm_up: int) -> None:
        if self.steps == warm_up:
            self.memory.synchronize()
            self.lines.event("window", edge="begin", step=self.steps)
            self._window_began = time.monotonic()
        done = self.steps - warm_up
        late = self.spec["seconds"] is not None and time.monotonic() - self._window_began > self.spec["seconds"]
        if done == self.spec["steps"] or (late and done >= _FEWEST_STEPS):
            self.memory.synchronize()
            self.lines.event("window", edge="end", step=self.steps)
            self.end("window")

    def epoch(self, by: str) -> None:
        if self.is_idle() or self.steps_in_epoch == 0 or (self.spec["epoch_steps"] and by != "steps"):
            return
        self._epochs_by = self._epochs_by or by
        if by != self._epochs_by:
            return
        memory = self.memory
        before = memory.tensors()
        if self.spec["mode"] == "plateau":
            memory.synchronize()
            memory.flush()
        self.lines.event(
            "epoch",
            i=self.epochs,
            steps=self.steps_in_epoch,
            mem=before,
            flushed=memory.tensors(),
            drv=memory.driver(),
            rss=resident_bytes(),
            ns=time.monotonic_ns() - self._epoch_began,
            by=by,
        )
        if self.spec["sites"]:
            if self.live is None:
                # The first epoch makes what stays for good: weights, moments, caches.
                self.live = LiveTensors(self.frames)
            else:
                self.lines.event("sites", i=self.epochs, rows=self.live.by_site())
        self.epochs += 1
        self.steps_in_epoch = 0
        self._epoch_began = time.monotonic_ns()
        if self.spec["epochs"] is not None and self.epochs >= self.spec["epochs"]:
            self.end("epochs")

    def end(self, why: str) -> None:
        self.finish(why)
        raise WindowOver(0)

    def script_ended(self) -> None:
        """At exit. A script that breaks off its loader leaves its last epoch open."""
        with contextlib.suppress(WindowOver):
            if self._epochs_by == "loader" and self.spec["mode"] == "plateau":
                self.epoch("loader")
            self.finish("script")

    def finish(self, why: str) -> None:
        if self.is_idle():
            return
        self._over = True
        for (name, site), (count, total) in self.wait_rows.items():
            self.lines.event("wait", name=name, site=site, count=count, ns=total)
        self.lines.event(
            "end", why=why, steps=self.steps, epochs=self.epochs, rss=resident_bytes(), fds=open_descriptors()
        )
