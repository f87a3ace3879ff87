"""torch.profiler names the device as it does others: "mps" for the columns of its tables, without being asked."""

from __future__ import annotations

import functools

from torch.autograd import profiler as autograd_profiler
from torch.profiler import profiler as user_profiler


def _named_mps(original):
    @functools.wraps(original)
    def __init__(self, *arguments, **keywords):
        if keywords.get("use_device") == "mps":
            keywords["use_device"] = None
        original(self, *arguments, **keywords)
        # A Mac's PyTorch has no activity for its GPU, so nobody asks for one.
        if self.use_device is None:
            self.use_device = "mps"

    return __init__


def attach() -> None:
    for module in (autograd_profiler, user_profiler):
        module._get_privateuse1_backend_name = lambda: "mps"
    autograd_profiler.profile.__init__ = _named_mps(autograd_profiler.profile.__init__)
    user_profiler._KinetoProfile.__init__ = _named_mps(user_profiler._KinetoProfile.__init__)
