"""Looks at a tensor's memory on the host that no operator sees."""

from __future__ import annotations

import torch

from anymps._wrap import wrap


def install(module) -> None:
    def read(original, tensor, *args, **kwargs):
        module.note_host_read(tensor)
        return original(tensor, *args, **kwargs)

    for name in ("numpy", "tolist", "__dlpack__"):  # __array__ calls numpy
        wrap(torch.Tensor, name, read)
