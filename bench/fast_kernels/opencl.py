"""PoCL, through OpenCL's C interface: as much of it as launching kernels takes."""

from __future__ import annotations

import ctypes
import os
import pathlib
from collections.abc import Callable

import torch

from .case import Case

HERE = pathlib.Path(__file__).parent
INSTALL = "apt-get install pocl-opencl-icd ocl-icd-libopencl1"
DEVICE_TYPE_ALL, DEVICE_NAME, PLATFORM_NAME, BUILD_LOG = 0xFFFFFFFF, 0x102B, 0x0902, 0x1183
READ_WRITE_USE_HOST_POINTER = 1 << 0 | 1 << 3
HANDLES = ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer")


class Unavailable(Exception):
    """There is no PoCL on this machine."""


def _check(status: int, what: str) -> None:
    if status != 0:
        raise RuntimeError(f"{what}: OpenCL's error {status}")


class Pocl:
    def __init__(self, threads: int):
        # "basic" runs in the calling thread; "pthread" has threads of its own, also when it has only one.
        os.environ["POCL_DEVICES"] = "basic" if threads == 1 else "pthread"
        os.environ["POCL_MAX_PTHREAD_COUNT"] = str(threads)
        try:
            self.cl = ctypes.CDLL("libOpenCL.so.1")
        except OSError:
            raise Unavailable(f"no libOpenCL.so.1; on Debian: {INSTALL}") from None
        for name in HANDLES:
            getattr(self.cl, name).restype = ctypes.c_void_p
        self.device = ctypes.c_void_p(self._find_device())
        self.context = ctypes.c_void_p(self._make("clCreateContext", None, 1, ctypes.byref(self.device), None, None))
        self.queue = ctypes.c_void_p(self._make("clCreateCommandQueue", self.context, self.device, ctypes.c_uint64(0)))

    def _find_device(self) -> int:
        platforms, count = (ctypes.c_void_p * 8)(), ctypes.c_uint32()
        self.cl.clGetPlatformIDs(8, platforms, ctypes.byref(count))
        for platform in platforms[: count.value]:
            name = ctypes.create_string_buffer(256)
            self.cl.clGetPlatformInfo(ctypes.c_void_p(platform), PLATFORM_NAME, ctypes.c_size_t(256), name, None)
            device = ctypes.c_void_p()
            kind = ctypes.c_uint64(DEVICE_TYPE_ALL)
            if b"Portable" in name.value and not self.cl.clGetDeviceIDs(
                ctypes.c_void_p(platform), kind, 1, ctypes.byref(device), None
            ):
                return device.value
        raise Unavailable(f"OpenCL is here, PoCL is not; on Debian: {INSTALL}")

    def _make(self, function: str, *arguments) -> int:
        status = ctypes.c_int32()
        made = getattr(self.cl, function)(*arguments, ctypes.byref(status))
        _check(status.value, function)
        return made

    def _program(self, path: pathlib.Path) -> ctypes.c_void_p:
        text = ctypes.c_char_p((HERE / "opencl" / "sums.h").read_bytes() + path.read_bytes())
        program = ctypes.c_void_p(self._make("clCreateProgramWithSource", self.context, 1, ctypes.byref(text), None))
        # No -cl-fast-relaxed-math: Metal's mathematics is safe and precise here, too.
        if self.cl.clBuildProgram(program, 1, ctypes.byref(self.device), b"-cl-std=CL1.2", None, None):
            log = ctypes.create_string_buffer(1 << 14)
            self.cl.clGetProgramBuildInfo(program, self.device, BUILD_LOG, ctypes.c_size_t(1 << 14), log, None)
            raise RuntimeError(f"{path.name}: {log.value.decode()}")
        return program

    def side(self, case: Case) -> tuple[Callable[[], None], dict] | None:
        """None where the kernel cannot be said in OpenCL C 1.2."""
        path = HERE / "opencl" / f"{case.file}.cl"
        if not path.exists():
            return None
        data = case.copy_of_data("cpu")
        program = self._program(path)
        launches = []
        for step in case.steps:
            kernel = ctypes.c_void_p(self._make("clCreateKernel", program, step.kernel.encode()))
            for index, name in enumerate(step.arguments.split()):
                value = self._argument(data[name])
                size = ctypes.c_size_t(ctypes.sizeof(value))
                status = self.cl.clSetKernelArg(kernel, index, size, ctypes.byref(value))
                _check(status, f"{step.kernel}, argument {index}")
            sizes = ctypes.c_size_t * len(step.threads)
            launches.append((kernel, len(step.threads), sizes(*step.threads), sizes(*step.group)))

        enqueue, finish, queue = self.cl.clEnqueueNDRangeKernel, self.cl.clFinish, self.queue

        def work() -> None:
            for kernel, dimensions, threads, group in launches:
                status = enqueue(queue, kernel, dimensions, None, threads, group, 0, None, None)
                if status != 0:
                    _check(status, "clEnqueueNDRangeKernel")
            finish(queue)

        return work, data

    def _argument(self, value: torch.Tensor | int | float):
        if not isinstance(value, torch.Tensor):
            return ctypes.c_uint32(value) if isinstance(value, int) else ctypes.c_float(value)
        flags, size = ctypes.c_uint64(READ_WRITE_USE_HOST_POINTER), ctypes.c_size_t(value.nbytes)
        return ctypes.c_void_p(
            self._make("clCreateBuffer", self.context, flags, size, ctypes.c_void_p(value.data_ptr()))
        )
