"""The sides of a comparison: a callable that does a case's work once, and the data that it writes to.

The callable keeps nothing alive that it has only an address of: whoever calls it keeps the data.
"""

from __future__ import annotations

import ctypes
import pathlib
import subprocess
import tempfile
from collections.abc import Callable

import torch

from .case import Case

HERE = pathlib.Path(__file__).parent
# Sums in any order, as the threads of a GPU take them too; no infinities or NaNs occur.
COMPILE = ("g++", "-std=c++20", "-O3", "-march=native", "-ffast-math", "-fopenmp-simd", "-fPIC", "-c")


def metal(case: Case) -> tuple[Callable[[], None], dict]:
    library = torch.mps.compile_shader((HERE / "metal" / f"{case.file}.metal").read_text())
    data = case.copy_of_data("mps")
    launches = [
        (getattr(library, s.kernel), [data[name] for name in s.arguments.split()], list(s.threads), list(s.group))
        for s in case.steps
    ]

    def work() -> None:
        for kernel, arguments, threads, group in launches:
            kernel(*arguments, threads=threads, group_size=group)

    return work, data


def compile_baseline(threads: int) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        made, library = f"{folder}/baseline.o", f"{folder}/baseline.so"
        subprocess.run([*COMPILE, str(HERE / "baseline.cpp"), "-o", made], check=True)
        # Linked without -ffast-math, with which GCC would make the whole process flush denormals.
        subprocess.run(["g++", "-shared", "-pthread", made, "-o", library], check=True)
        baseline = ctypes.CDLL(library)
    baseline.set_threads(ctypes.c_uint32(threads))
    return baseline


def native(value: torch.Tensor | int | float):
    if isinstance(value, torch.Tensor):
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_uint32(value) if isinstance(value, int) else ctypes.c_float(value)


def baseline(case: Case, library: ctypes.CDLL) -> tuple[Callable[[], None], dict]:
    data = case.copy_of_data("cpu")
    function = getattr(library, case.file)
    function.restype = None
    arguments = [native(data[name]) for name in case.baseline.split()]
    return lambda: function(*arguments), data
