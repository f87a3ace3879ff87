"""Counts the arithmetic and the memory traffic of one training step, for `anymps size`.

The third step is counted: the first ones allocate what later ones reuse. A dispatch mode goes on at the end of the
second step and off at the end of the third, so it sees what the step asks of the device: forward, backward and
optimiser. FLOPs are those of matrix products, convolutions and attention, by PyTorch's own formulas where it has them.
Bytes are the sizes of the distinct tensors that each operator reads and writes; views move nothing and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

_COUNTED_STEP = 3
_aten = torch.ops.aten


def _linear(x, weight, bias=None) -> int:
    return 2 * x.numel() * weight.shape[0]


def _linear_backward(x, grad_output, weight, output_mask) -> int:
    return 2 * grad_output.numel() * weight.shape[1] * (int(output_mask[0]) + int(output_mask[1]))


def _attention(query, key, value, *args, **kwargs) -> int:
    scores = query.numel() // query.shape[-1] * key.shape[-2]
    return 2 * scores * (query.shape[-1] + value.shape[-1])


def _lstm(x, hx, params, *args) -> int:
    return 2 * (x.numel() // x.shape[-1]) * sum(weight.numel() for weight in params if weight.dim() == 2)


def _lstm_backward(grad_y, grad_hy, grad_cy, z_state, cell_state, x, outputs, hx, params, *args) -> int:
    return 2 * _lstm(x, hx, params)


# Operators that MPS alone has, or has kernels of its own for; PyTorch's registry knows what others decompose into.
_FORMULAS: dict[Any, Callable[..., int]] = {
    _aten.linear: _linear,
    _aten.linear_backward: _linear_backward,
    _aten._scaled_dot_product_attention_math_for_mps: _attention,
    _aten._lstm_mps: _lstm,
    _aten.lstm_mps_backward: _lstm_backward,
}


def _is_view(func) -> bool:
    returns = func._schema.returns
    return bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def _moves_nothing(func) -> bool:
    return func._overloadpacket in (_aten.empty, _aten.empty_strided, _aten.empty_like) or _is_view(func)


def _traffic(values) -> int:
    """Bytes of the distinct device tensors among values; an expanded one is as large as what it repeats."""
    sizes = {}
    for value in tree_leaves(values):
        if isinstance(value, torch.Tensor) and value.device.type == "mps" and value.layout == torch.strided:
            size = min(value.numel() * value.element_size(), value.untyped_storage().nbytes())
            sizes[value.data_ptr(), value.shape, value.dtype] = size
    return sum(sizes.values())


class _Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.flops = 0
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        packet = func._overloadpacket
        if packet in _FORMULAS:
            self.flops += _FORMULAS[packet](*args, **kwargs)
        elif packet in flop_registry:
            self.flops += flop_registry[packet](*args, **kwargs, out_val=result)
        if not _moves_nothing(func):
            self.bytes += _traffic((args, kwargs, result))
        return result


class StepCounter:
    """Told of every step by the recorder; counts one, at the place in the script that stepped first."""

    def __init__(self, trace: ModuleType) -> None:
        self._trace = trace
        self._place: tuple[str, str] | None = None
        self._steps = 0
        self._counting: _Counting | None = None

    def step_ended(self, name: str, site: str) -> None:
        if self._place is None:
            self._place = (name, site)
        if self._place != (name, site) or self._steps >= _COUNTED_STEP:
            return
        self._steps += 1
        if self._steps == _COUNTED_STEP - 1:
            self._counting = _Counting()
            self._counting.__enter__()
        elif self._counting is not None:
            self._counting.__exit__(None, None, None)
            self._trace.trace_fact("step_flops", str(self._counting.flops))
            self._trace.trace_fact("step_bytes", str(self._counting.bytes))
            self._counting = None
