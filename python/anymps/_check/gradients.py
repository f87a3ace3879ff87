"""Gradient scaling, and the gradients that an optimiser takes."""

from __future__ import annotations

import inspect
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from anymps._wrap import wrap, wrap_backward


class _Scaled:
    """What a GradScaler did with one optimiser, since."""

    def __init__(self) -> None:
        self.unscaled_at: str | None = None  # and not stepped
        self.stepped_at: str | None = None  # and the gradients not cleared
        self.stepped_gradient: weakref.ref | None = None


_scaled: weakref.WeakKeyDictionary[torch.optim.Optimizer, _Scaled] = weakref.WeakKeyDictionary()


def _parameters(optimizer: torch.optim.Optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _gradients(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [parameter.grad for parameter in _parameters(optimizer) if parameter.grad is not None]


def _still_holds(optimizer: torch.optim.Optimizer, state: _Scaled, module) -> bool:
    """Whether the gradient that the last step took is there yet, and not zero."""
    taken = state.stepped_gradient() if state.stepped_gradient is not None else None
    gradients = _gradients(optimizer)
    return taken is not None and bool(gradients) and gradients[0] is taken and not module.is_all_zero(taken)


def install(module) -> None:
    def made(original, self, *args, **kwargs):
        original(self, *args, **kwargs)
        given = inspect.signature(original).bind(self, *args, **kwargs).arguments
        if not given.get("enabled", True) or self._device != "cuda":
            return
        if isinstance(self, torch.cuda.amp.GradScaler):
            module.note_finding("cuda-amp", "torch.cuda.amp.GradScaler")
        elif "device" in given:
            module.note_finding("cuda-amp", 'torch.amp.GradScaler("cuda")')
        else:
            module.note_finding("scaler-without-device")

    def unscale(original, self, optimizer):
        result = original(self, optimizer)
        if self.is_enabled():
            _scaled.setdefault(optimizer, _Scaled()).unscaled_at = module.call_site()
        return result

    def step(original, self, optimizer, *args, **kwargs):
        result = original(self, optimizer, *args, **kwargs)
        if self.is_enabled():
            state = _scaled.setdefault(optimizer, _Scaled())
            gradients = _gradients(optimizer)
            state.unscaled_at = None
            state.stepped_at = module.call_site()
            state.stepped_gradient = weakref.ref(gradients[0]) if gradients else None
        return result

    def run_backward(original, *args, **kwargs):
        for optimizer, state in list(_scaled.items()):
            if state.unscaled_at is not None and _gradients(optimizer):
                module.note_finding_at(state.unscaled_at, "unscale-in-accumulation")
            elif state.stepped_at is not None and _still_holds(optimizer, state, module):
                module.note_finding_at(state.stepped_at, "step-in-accumulation")
            state.unscaled_at = state.stepped_at = None
        return original(*args, **kwargs)

    def zero_grad(original, self, set_to_none: bool = True):
        if not set_to_none:
            module.note_finding("zero-grad-keeps-memory", "", _bytes(self))
        return original(self, set_to_none)

    def before_step(optimizer, args, kwargs):
        if torch.compiler.is_compiling():
            return
        gradients = _gradients(optimizer)
        if (bad := module.first_nonfinite(gradients)) is not None:
            shape = "x".join(map(str, gradients[bad].shape)) or "scalar"
            module.note_finding("nonfinite-gradient", f"parameter {bad} ({shape})")

    scaler = torch.amp.GradScaler
    wrap(scaler, "__init__", made)
    wrap(scaler, "unscale_", unscale)
    wrap(scaler, "step", step)
    wrap_backward(run_backward)
    wrap(torch.optim.Optimizer, "zero_grad", zero_grad)
    wrap(torch.nn.Module, "zero_grad", zero_grad)
    register_optimizer_step_pre_hook(before_step)


def _bytes(owner: torch.optim.Optimizer | torch.nn.Module) -> int:
    parameters = _parameters(owner) if isinstance(owner, torch.optim.Optimizer) else owner.parameters()
    return sum(parameter.grad.nbytes for parameter in parameters if parameter.grad is not None)
