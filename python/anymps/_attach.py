"""What a stock Linux wheel lacks of torch.mps, attached to it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys

import torch
import typing_extensions

from anymps import _capture, _convolution, _environment, _group_norm, _includes, _platform, _profiler, _streams


def _load_library():
    """Global symbols, so that C++ extensions built against the device resolve to this one copy."""
    from anymps import library_path

    ctypes.CDLL(library_path(), mode=ctypes.RTLD_GLOBAL)
    from anymps import _C

    return _C


def _storage_constructor(module):
    """`torch.UntypedStorage(8, device="mps")`: the C++ constructor in this wheel knows no mps."""
    original = torch.UntypedStorage.__new__

    def __new__(cls, *arguments, device=None, **keywords):
        if device is None or torch.device(device).type != "mps":
            if device is not None:
                keywords["device"] = device
            return original(cls, *arguments, **keywords)
        if keywords or len(arguments) > 1:
            # Let the original name what is wrong with them.
            return original(cls, *arguments, **keywords)
        content = arguments[0] if arguments else 0
        if isinstance(content, int):
            return module.new_storage(content)
        return torch.tensor(list(content), dtype=torch.uint8, device="mps").untyped_storage()

    return __new__


class NoSuchMac(Exception):
    """ANYMPS_MAC, ANYMPS_MACOS or ANYMPS_AS_TORCH names nothing that exists."""


def attach() -> None:
    module = _load_library()
    if (problem := module.device_problem()) is not None:
        raise NoSuchMac(problem)
    has_mac = os.environ.get("ANYMPS_MAC") or os.environ.get("ANYMPS_MACOS")
    _platform.attach(module, (os.environ.get("ANYMPS_MACOS") or module.macos_version()) if has_mac else None)
    folders = [os.path.dirname(torch.__file__), os.path.dirname(__file__), os.path.dirname(os.__file__)]
    # What runs the user's tests is not the user's either.
    runners = filter(None, map(sys.modules.get, ("_pytest", "pluggy", "xdist", "execnet")))
    folders += [os.path.dirname(runner.__file__) for runner in runners if runner.__file__]
    # PyTorch's deprecated names are called through the last one.
    module.set_package_folders([*(folder + os.sep for folder in folders), typing_extensions.__file__])
    core = torch._C
    core._has_mps = True
    core._mps_get_name = module.device_name
    core._mps_get_core_count = module.core_count
    core._mps_host_alias_storage = module.host_alias_storage
    for name in (
        "_mps_ShaderLibrary",
        "_mps_PrecompiledShaderLibrary",
        "_mps_MetalKernel",
        "_mps_loadMetalllib",
        "_mps_loadMetallibFromPath",
        "_mps_compileShader",
        "_mps_isCaptureEnabled",
        "_mps_isCapturing",
        "_mps_startCapture",
        "_mps_stopCapture",
    ):
        setattr(core, name, getattr(module, name))
    core._aoti.AOTIModelContainerRunnerMps = module.AOTIModelContainerRunnerMps
    torch.UntypedStorage.__new__ = staticmethod(_storage_constructor(module))
    torch.backends.mps.is_available.cache_clear()
    _capture.attach()
    _convolution.attach()
    _group_norm.attach()
    _includes.attach()
    _environment.attach(module)
    _profiler.attach()
    _streams.attach(module)
    atexit.register(module.drain_autograd_thread)
    if os.environ.get("ANYMPS_RUN"):
        from anymps import _recorder, _waits

        module.trace_fact("device", module.device_name())
        module.trace_fact("torch", torch.__version__)
        for key, variable in (("mac", "ANYMPS_MAC"), ("macos", "ANYMPS_MACOS"), ("as torch", "ANYMPS_AS_TORCH")):
            if chosen := os.environ.get(variable):
                module.trace_fact(key, chosen)
        # A bad limit in the environment is for the first tensor to report, as on a Mac.
        with contextlib.suppress(ValueError):
            if (limit := module.memory_limit()) is not None:
                module.trace_fact("limit", str(limit))
        module.trace_fact("recommended", str(torch.mps.recommended_max_memory()))
        _recorder.install()
        _waits.install(module)
        if module.checking():
            from anymps import _check

            _check.install(module)
        if os.environ.get("ANYMPS_TRACE_CALLS"):
            module.trace_calls()
