"""Who made the tensors that are still there."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from .frames import UserFrames


class LiveTensors:
    """Who made the tensors that are still there: every operator's results, by the line that called it."""

    def __init__(self, frames: UserFrames) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode
        from torch.utils._pytree import tree_leaves

        self._live: dict[int, tuple[Any, str, int, str]] = {}
        self.backward_site = ""
        live = self._live
        outer = self

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                import torch

                result = func(*args, **(kwargs or {}))
                for value in tree_leaves(result):
                    if isinstance(value, torch.Tensor) and id(value) not in live:
                        # A view, or what was written in place, has the storage of something older.
                        if value._is_view():
                            continue
                        key = id(value)
                        site = frames.site(sys._getframe(1)) or outer.backward_site
                        note = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
                        reference = weakref.ref(value, lambda _, key=key: live.pop(key, None))
                        live[key] = (reference, site, value.numel() * value.element_size(), note)
                return result

        self._mode = Watch()
        self._mode.__enter__()

    def by_site(self) -> dict[str, list]:
        rows: dict[str, list] = {}
        for reference, site, size, note in list(self._live.values()):
            if reference() is None:
                continue
            row = rows.setdefault(site, [0, 0, note])
            row[0] += size
            row[1] += 1
        return rows
