"""torch.profiler names the device as it does others: "mps" for the columns of its tables, without being asked."""

from __future__ import annotations

import functools

from torch.autograd import DeviceType
from torch.autograd import profiler as autograd_profiler
from torch.autograd.profiler_util import MEMORY_EVENT_NAME
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


def _is_memory_of_mps(event) -> bool:
    return event.device_type() == DeviceType.MPS and event.name() == MEMORY_EVENT_NAME


class _MemoryEvent:
    """The tables add up the memory of a few types of devices, of which mps is none; PrivateUse1 is "any other"."""

    def __init__(self, event) -> None:
        self._event = event

    def __getattr__(self, name: str):
        return getattr(self._event, name)

    def device_type(self) -> DeviceType:
        return DeviceType.PrivateUse1


class _Result:
    def __init__(self, result) -> None:
        self._result = result

    def __getattr__(self, name: str):
        return getattr(self._result, name)

    def events(self) -> list:
        return [_MemoryEvent(event) if _is_memory_of_mps(event) else event for event in self._result.events()]


def _with_memory_of_mps(original):
    @functools.wraps(original)
    def _parse_kineto_results(self, result, *arguments, **keywords):
        return original(self, _Result(result), *arguments, **keywords)

    return _parse_kineto_results


def _of_the_right_device(original):
    """The timeline compares devices as they are written, and allocations are those of "mps:0"."""

    @functools.wraps(original)
    def export_memory_timeline(self, path, device=None):
        if device is None and self.use_device == "mps":
            # As before for a program that never touched the device.
            results = self.profiler.kineto_results if self.profiler is not None else None
            if results is not None and not any(_is_memory_of_mps(event) for event in results.events()):
                device = "cpu"
        return original(self, path, "mps:0" if device == "mps" else device)

    return export_memory_timeline


def attach() -> None:
    for module in (autograd_profiler, user_profiler):
        module._get_privateuse1_backend_name = lambda: "mps"
    profile, kineto_profile = autograd_profiler.profile, user_profiler._KinetoProfile
    profile.__init__ = _named_mps(profile.__init__)
    profile._parse_kineto_results = _with_memory_of_mps(profile._parse_kineto_results)
    kineto_profile.__init__ = _named_mps(kineto_profile.__init__)
    kineto_profile.export_memory_timeline = _of_the_right_device(kineto_profile.export_memory_timeline)
