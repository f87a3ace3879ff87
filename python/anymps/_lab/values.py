"""Parity: values of layers, gradients and losses, for another run to be held against."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from .batches import first_tensor


def _name_of(dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _dtype_of(value) -> str | None:
    return _name_of(value.dtype) if hasattr(value, "dtype") else None


class Values:
    def __init__(self, recorder) -> None:
        self._recorder = recorder
        self._file = open(os.path.join(recorder.lines.folder, f"{os.getpid()}.values"), "wb")  # noqa: SIM115
        self._roots: dict[int, Any] = {}
        self._names: dict[int, str] = {}
        self._calls: dict[tuple[int, str], int] = {}

    def keep(self, what: str, name: str, kind: str, tensor) -> None:
        import torch

        recorder = self._recorder
        if tensor.is_sparse or tensor.is_complex() or tensor.numel() == 0:
            return
        flat = tensor.detach().reshape(-1)
        every = -(-flat.numel() // recorder.spec["kept_elements"])
        chosen = flat[::every].to("cpu").contiguous()
        if chosen.dtype in (torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32):
            chosen = chosen.to(torch.int64)
        data = ctypes.string_at(chosen.data_ptr(), chosen.numel() * chosen.element_size())
        offset = self._file.tell()
        self._file.write(data)
        self._file.flush()
        recorder.lines.event(
            "value",
            what=what,
            name=name,
            kind=kind,
            step=recorder.steps,
            dtype=_name_of(tensor.dtype),
            kept=_name_of(chosen.dtype),
            shape=list(tensor.shape),
            every=every,
            count=chosen.numel(),
            offset=offset,
        )

    def learn(self, root) -> None:
        """The names of a model's parts, and which dtypes each kind of layer has."""
        if id(root) in self._roots:
            return
        self._roots[id(root)] = root
        for name, module in root.named_modules():
            self._names[id(module)] = name or type(root).__name__
            if not list(module.children()):
                self._recorder.lines.event(
                    "module",
                    name=name,
                    kind=type(module).__name__,
                    weight=_dtype_of(getattr(module, "weight", None)),
                    statistics=_dtype_of(getattr(module, "running_mean", None)),
                )
        for name, parameter in root.named_parameters():
            self._names[id(parameter)] = name

    def output(self, module, result) -> None:
        if self._recorder.steps >= self._recorder.spec["kept_steps"] or next(module.children(), None) is not None:
            return
        if (tensor := first_tensor(result)) is None or (name := self._names.get(id(module))) is None:
            return
        # A layer that is called twice in a step has two outputs.
        call = self._calls.get((self._recorder.steps, name), 0)
        self._calls[self._recorder.steps, name] = call + 1
        self.keep("layer", name if call == 0 else f"{name} (call {call + 1})", type(module).__name__, tensor)

    def gradients(self, optimizer) -> None:
        if self._recorder.steps >= self._recorder.spec["kept_steps"]:
            return
        for group_index, group in enumerate(optimizer.param_groups):
            for index, parameter in enumerate(group["params"]):
                if parameter.grad is not None:
                    name = self._names.get(id(parameter), f"group {group_index} parameter {index}")
                    self.keep("gradient", name, "gradient", parameter.grad)
