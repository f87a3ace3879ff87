"""LMDB environments that are open when a loader's workers start: they must not be carried into another process."""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import weakref

_NAME = "lmdb"

# Where each was opened, as long as it lives.
_open: list[tuple[weakref.ref, str]] = []


def check(module) -> bool:
    """Called where workers start; whether there was one."""
    sites = [site for environment, site in _open if environment() is not None and _is_open(environment())]
    for site in sites:
        module.note_finding_at(site, "lmdb-before-workers")
    return bool(sites)


def _is_open(environment) -> bool:
    try:
        environment.stat()
    except Exception:
        return False  # closed
    return True


def _watch(lmdb, module) -> None:
    class Environment(lmdb.Environment):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            _open.append((weakref.ref(self), module.call_site()))

    lmdb.Environment = lmdb.open = Environment


class _Finder(importlib.abc.MetaPathFinder):
    """Watches lmdb once it is imported, for nobody else needs it."""

    def __init__(self, module) -> None:
        self._module = module

    def find_spec(self, name, path, target=None):
        if name != _NAME:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(lmdb):
            execute(lmdb)
            _watch(lmdb, self._module)

        spec.loader.exec_module = exec_module
        return spec


def install(module) -> None:
    if _NAME in sys.modules:
        _watch(sys.modules[_NAME], module)
    else:
        sys.meta_path.insert(0, _Finder(module))
