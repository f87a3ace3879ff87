"""Group normalisation where PyTorch has it in Python for mps: `torch.backends.mps._init` of releases before 2.13.

PyTorch asks for it while it is imported, before there is a device. It is found when it is first called: what it lies in
takes long to import.
"""

from __future__ import annotations

import torch

library = None  # for as long as the process lives


def native_group_norm(*args, **kwargs):
    from torch._refs import native_group_norm

    return native_group_norm(*args, **kwargs)


def native_group_norm_backward(*args, **kwargs):
    from torch._decomp.decompositions import native_group_norm_backward

    return native_group_norm_backward(*args, **kwargs)


def attach() -> None:
    global library
    if not hasattr(torch.backends.mps, "_init"):
        return
    library = torch.library.Library("aten", "IMPL")
    for implementation in (native_group_norm, native_group_norm_backward):
        library.impl(implementation.__name__, implementation, "MPS")
