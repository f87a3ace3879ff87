"""Watches a training step: an operator that touches an mps tensor must answer with mps tensors in our heap."""

from __future__ import annotations

import collections

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def has_kernel(func, key: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key)


class Watch(TorchDispatchMode):
    """`calls` counts operators by name; `strays` says what came out somewhere else than on mps, or outside the heap."""

    def __init__(self, in_heap):
        super().__init__()
        self.in_heap = in_heap
        self.calls: collections.Counter[str] = collections.Counter()
        self.strays: list[str] = []
        self.unregistered: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        inputs = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        asked = torch.device((kwargs or {}).get("device") or "cpu").type
        if not any(t.device.type == "mps" for t in inputs) and asked != "mps":
            return out  # an optimiser's step counter lives on the CPU, as on a Mac
        name = func.name()
        self.calls[name] += 1
        if not any(has_kernel(func, key) for key in MPS_KEYS):
            self.unregistered.add(name)
        for t in tree_leaves(out):
            if not isinstance(t, torch.Tensor):
                continue
            if t.device.type != "mps":
                self.strays.append(f"{name} answered on {t.device}")
            elif t.numel() and not self.in_heap(t):
                self.strays.append(f"{name} answered outside the heap")
        return out


# An operator reaches MPS by a kernel of its own, or by one that serves every device in terms of others.
MPS_KEYS = ("MPS", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd")
