"""The smaller hooks: backward passes, what a script makes use of, waits, the model's call, seeds."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
from typing import Any

from .recorder import Recorder
from .values import Values

_BEFORE_SCALING = "_anymps_before_scaling"


def watch_backward(recorder: Recorder) -> None:
    import torch

    original = torch.Tensor.backward
    is_parity = recorder.spec["mode"] == "parity"

    def backward(tensor, *arguments, **keywords):
        recorder.first_activity()
        recorder.backwards += 1
        if recorder.live is not None:
            # Kernels of a backward pass run in threads without a line of the user's.
            recorder.live.backward_site = recorder.frames.site(sys._getframe(1))
        if is_parity and tensor.numel() == 1:
            loss = getattr(tensor, _BEFORE_SCALING, tensor)
            value = loss.detach().to("cpu").double().item()
            dtype = str(loss.dtype).removeprefix("torch.")
            # JSON has no NaN and no infinities.
            shown = value if math.isfinite(value) else str(value)
            recorder.lines.event("loss", step=recorder.steps, value=shown, dtype=dtype)
        return original(tensor, *arguments, **keywords)

    torch.Tensor.backward = backward


def remember_unscaled_losses() -> None:
    """A GradScaler multiplies the loss before its backward pass; the program's own is what it was given."""
    import torch

    original = torch.amp.GradScaler.scale

    def scale(scaler, outputs):
        scaled = original(scaler, outputs)
        if isinstance(outputs, torch.Tensor) and scaled is not outputs:
            setattr(scaled, _BEFORE_SCALING, outputs.detach())
        return scaled

    torch.amp.GradScaler.scale = scale


def note_what_is_used(recorder: Recorder) -> None:
    """Mixed precision and checkpointing: throughput is not comparable without."""
    import torch
    from torch.utils import checkpoint

    original_enter = torch.autocast.__enter__
    original_checkpoint = checkpoint.checkpoint

    def __enter__(context):
        if context._enabled:
            recorder.fact("amp", str(context.fast_dtype).removeprefix("torch."))
        return original_enter(context)

    def checkpointed(*arguments, **keywords):
        recorder.fact("checkpointing", True)
        return original_checkpoint(*arguments, **keywords)

    torch.autocast.__enter__ = __enter__
    checkpoint.checkpoint = checkpointed


def time_waits(recorder: Recorder) -> None:
    """The calls that hold the host until the device has an answer, by line."""
    import torch

    # It looks whether a gradient overflowed, each time: nobody can change that, and `anymps check` does not count it.
    inevitable = torch.amp.grad_scaler.__file__

    def timed(name: str, original, waits):
        def call(*arguments, **keywords):
            if not waits(*arguments, **keywords) or sys._getframe(1).f_code.co_filename == inevitable:
                return original(*arguments, **keywords)
            began = time.monotonic_ns()
            try:
                return original(*arguments, **keywords)
            finally:
                row = recorder.wait_rows.setdefault((name, recorder.frames.site(sys._getframe(1))), [0, 0])
                row[0] += 1
                row[1] += time.monotonic_ns() - began

        return call

    def is_away(tensor, *_, **__) -> bool:
        return tensor.device.type not in ("cpu", "meta")

    def comes_home(tensor, *arguments, **keywords) -> bool:
        target = keywords.get("device", arguments[0] if arguments else None)
        return is_away(tensor) and isinstance(target, (str, torch.device)) and str(target).startswith("cpu")

    for name in ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__"):
        setattr(torch.Tensor, name, timed(name, getattr(torch.Tensor, name), is_away))
    torch.Tensor.to = timed("to cpu", torch.Tensor.to, comes_home)
    torch.mps.synchronize = timed("synchronize", torch.mps.synchronize, lambda *_, **__: True)


class ModelCall:
    """Keeps how the script calls its model, to call it so again."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._depth = threading.local()
        self._call: Any = None
        self._is_repeating = False

    def install(self) -> None:
        import torch

        original = torch.nn.Module.__call__

        def __call__(module, *arguments, **keywords):
            depth = getattr(self._depth, "value", 0)
            wanted = depth == 0 and not self._is_repeating and module.training and torch.is_grad_enabled()
            # A loss is a module, too; the model is the one with weights.
            if wanted and (self._call is None or next(module.parameters(), None) is not None):
                self._call = (module, arguments, keywords)
            self._depth.value = depth + 1
            try:
                return original(module, *arguments, **keywords)
            finally:
                self._depth.value = depth

        torch.nn.Module.__call__ = __call__

    def only_forward(self) -> None:
        """Instead of the rest of the script: the model's call, with the same batch each time."""
        recorder = self._recorder
        if self._call is None:
            recorder.lines.event("error", text="no module was called before the first step")
            return
        self._is_repeating = True
        module, arguments, keywords = self._call
        warm_up = recorder.spec["warm_up"]
        for index in range(warm_up + (recorder.spec["steps"] or 50)):
            if index == warm_up:
                recorder.memory.synchronize()
                recorder.lines.event("window", edge="begin", step=index)
            began = time.monotonic_ns()
            module(*arguments, **keywords)
            recorder.lines.event("forward", i=index, ns=time.monotonic_ns() - began, counts=index >= warm_up)
        recorder.memory.synchronize()
        recorder.lines.event("window", edge="end", step=index + 1)


def keep_values(recorder: Recorder) -> None:
    from torch.nn.modules import module as modules
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    values = Values(recorder)
    depth = threading.local()

    def before(module, arguments) -> None:
        level = getattr(depth, "value", 0)
        if level == 0:
            values.learn(module)
        depth.value = level + 1

    def after(module, arguments, result) -> None:
        depth.value = getattr(depth, "value", 1) - 1
        values.output(module, result)

    modules.register_module_forward_pre_hook(before)
    modules.register_module_forward_hook(after)
    register_optimizer_step_pre_hook(lambda optimizer, arguments, keywords: values.gradients(optimizer))


def seed_all(seed: int) -> None:
    import random

    import torch

    random.seed(seed)
    torch.manual_seed(seed)
    with contextlib.suppress(ImportError):
        import numpy

        numpy.random.seed(seed)


def without_dropout() -> None:
    """Two devices draw different masks from one seed, which would hide every other difference."""
    from torch.nn import functional

    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        original = getattr(functional, name)

        def without(input, p=0.5, training=True, inplace=False, original=original):
            return original(input, 0.0, training, inplace)

        setattr(functional, name, without)
    original_attention = functional.scaled_dot_product_attention

    def attention(query, key, value, attn_mask=None, dropout_p=0.0, *arguments, **keywords):
        return original_attention(query, key, value, attn_mask, 0.0, *arguments, **keywords)

    functional.scaled_dot_product_attention = attention
