"""DataLoaders: pinned memory, and workers, which a Mac starts afresh where Linux forks."""

from __future__ import annotations

import ast
import io
import multiprocessing
import pickle
import sys
import weakref

import torch
from torch.utils.data import DataLoader

from anymps._check import lmdb_opened
from anymps._wrap import wrap

# More need not be looked at: a dataset of this size has no part that cannot be pickled behind it, or has it in front.
_MOST_PICKLED = 64 << 20


class _Enough(Exception):
    pass


class _Nowhere(io.RawIOBase):
    """Takes what is written, up to a limit."""

    def __init__(self) -> None:
        self.written = 0

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        self.written += memoryview(data).nbytes
        if self.written > _MOST_PICKLED:
            raise _Enough
        return memoryview(data).nbytes


def unpicklable(value: object) -> str | None:
    """Why a worker that is started afresh cannot be given this; None where it can."""
    try:
        pickle.Pickler(_Nowhere(), protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    except _Enough:
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _is_guard(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.comparators) != 1:
        return False
    sides = (test.left, test.comparators[0])
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides) and any(
        isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
    )


def is_guarded(source: str, line: int) -> bool:
    """Whether a line of a script runs only in the process that the user started."""
    return any(
        isinstance(node, ast.If) and _is_guard(node.test) and node.body[0].lineno <= line <= node.body[-1].end_lineno
        for node in ast.parse(source).body
    )


def _script_line() -> tuple[str, int] | None:
    """The script that runs, and the line that its own text is at; None in a notebook."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    frame = sys._getframe()
    found = None
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__":
            found = (frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return found if script is not None and found is not None and found[0] == script else None


def _runs_without_guard() -> bool:
    if (place := _script_line()) is None:
        return False
    try:
        with open(place[0], encoding="utf-8") as file:
            return not is_guarded(file.read(), place[1])
    except (OSError, SyntaxError, ValueError):
        return False


# By the program, for all processes. Python's own answer is no help: the first loader settles it.
_method_for_all: str | None = None


def _start_method(context) -> str | None:
    """The one that was asked for; None where the system's default is taken."""
    if context is None:
        return _method_for_all
    return context if isinstance(context, str) else context.get_start_method()


# Where each loader was made: what it was given, it was given there.
_made_at: weakref.WeakKeyDictionary[DataLoader, str] = weakref.WeakKeyDictionary()


def _check_workers(module, loader: DataLoader) -> None:
    made_at = _made_at.get(loader, "")
    found_lmdb = lmdb_opened.check(module, loader.dataset)
    method = _start_method(loader.multiprocessing_context)
    if method == "fork":
        module.note_finding_at(made_at, "workers-by-fork")
        return
    if _runs_without_guard():
        module.note_finding("workers-without-main-guard")
    # An environment of LMDB's is what could not be pickled.
    for name in ("collate_fn", "worker_init_fn") if found_lmdb else ("dataset", "collate_fn", "worker_init_fn"):
        if (why := unpicklable(getattr(loader, name))) is not None:
            module.note_finding_at(made_at, "workers-unpicklable", f"{name}: {why}")


def install(module) -> None:
    def made(original, self, *args, **kwargs):
        original(self, *args, **kwargs)
        _made_at[self] = module.call_site()
        if self.pin_memory:
            module.note_finding("pin-memory", "DataLoader")

    def iterate(original, self):
        if self.num_workers > 0:
            _check_workers(module, self)
        return original(self)

    def pin(original, self, *args, **kwargs):
        module.note_finding("pin-memory", "Tensor.pin_memory")
        return original(self, *args, **kwargs)

    def set_start_method(original, method, *args, **kwargs):
        global _method_for_all
        original(method, *args, **kwargs)
        _method_for_all = method

    global _method_for_all
    _method_for_all = multiprocessing.get_start_method(allow_none=True)
    for owner in (multiprocessing, torch.multiprocessing):
        wrap(owner, "set_start_method", set_start_method)
    wrap(DataLoader, "__init__", made)
    wrap(DataLoader, "_get_iterator", iterate)
    wrap(torch.Tensor, "pin_memory", pin)
    lmdb_opened.install(module)
