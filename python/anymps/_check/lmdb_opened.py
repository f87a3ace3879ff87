"""LMDB environments that are open when a loader's workers start: they must not be carried into another process."""

from __future__ import annotations

import contextlib
import functools
import importlib.abc
import importlib.util
import sys

_NAME = "lmdb"
_DEEPEST = 4

# Where each was opened, by its id. Environments have no weak references; an id that another has taken since is told
# again when that one is opened.
_opened_at: dict[int, str] = {}


def check(module, dataset: object) -> bool:
    """Called where workers start; whether the dataset has one."""
    lmdb = sys.modules.get(_NAME)
    if lmdb is None:
        return False
    owners = [dataset, getattr(type(dataset).__getitem__, "__globals__", {})]
    sites = {_opened_at.get(id(found), "") for owner in owners for found in _environments(owner, lmdb, _DEEPEST)}
    for site in sorted(sites):
        if site:
            module.note_finding_at(site, "lmdb-before-workers")
        else:
            module.note_finding("lmdb-before-workers")
    return bool(sites)


def _environments(value: object, lmdb, depth: int):
    """The open environments that a value holds."""
    if isinstance(value, lmdb.Environment):
        with contextlib.suppress(lmdb.Error):  # closed
            value.stat()
            yield value
    elif depth > 0:
        for part in _parts(value):
            yield from _environments(part, lmdb, depth - 1)


def _parts(value: object) -> list:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return list(value)
    # Of a class or a module there is no end.
    return [] if isinstance(value, type) or not _is_instance_of_users(value) else list(vars(value).values())


def _is_instance_of_users(value: object) -> bool:
    return type(value).__module__ != "builtins" and hasattr(value, "__dict__")


def _watch(lmdb, module) -> None:
    original = lmdb.open

    @functools.wraps(original)
    def open(*args, **kwargs):
        environment = original(*args, **kwargs)
        _opened_at[id(environment)] = module.call_site()
        return environment

    lmdb.open = open


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
