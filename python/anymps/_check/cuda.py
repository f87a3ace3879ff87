"""torch.cuda in a program that runs on mps."""

from __future__ import annotations

import inspect

import torch

from anymps._wrap import called_by_torch, wrap

# They answer truly where there is no CUDA, or are meant to be called everywhere.
_HARMLESS = {
    "device_count",
    "get_arch_list",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
}

# Given an empty list they are asked for nothing: programs pass on the states that they got where there was no CUDA.
_ON_LISTS = {"set_rng_state_all"}

# Inside of a call that is told already.
_inside = False


def _watch(module, name: str):
    def around(original, *args, **kwargs):
        global _inside
        if _inside or called_by_torch(2) or (name in _ON_LISTS and args and not args[0]):
            return original(*args, **kwargs)
        _inside = True
        try:
            result = original(*args, **kwargs)
        except BaseException:
            module.note_finding("cuda-call", f"torch.cuda.{name}")
            raise
        else:
            module.note_finding("cuda-call-idle", f"torch.cuda.{name}")
            return result
        finally:
            _inside = False

    return around


def install(module) -> None:
    def lazy_init(original, *args, **kwargs):
        if not _inside:
            module.note_finding("cuda-device")
        return original(*args, **kwargs)

    def autocast(original, self, device_type, *args, **kwargs):
        enabled = kwargs.get("enabled", args[1] if len(args) > 1 else True)
        if device_type == "cuda" and enabled:
            module.note_finding("cuda-amp", f"{type(self).__module__}.{type(self).__name__}")
        return original(self, device_type, *args, **kwargs)

    for name in torch.cuda.__all__:
        if name not in _HARMLESS and inspect.isfunction(getattr(torch.cuda, name)):
            wrap(torch.cuda, name, _watch(module, name))
    wrap(torch.cuda, "_lazy_init", lazy_init)
    wrap(torch.amp.autocast_mode.autocast, "__init__", autocast)
