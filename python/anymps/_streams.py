"""torch.mps.Stream and what goes with it, as the release in force has them.

PyTorch 2.15 has them in torch.mps; a Linux wheel has the Python of it, over a class that cannot be made. 2.14 has what
they are made of in torch._C. Before, there is nothing.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import types

import torch

_NAMES = ("Stream", "stream", "current_stream", "set_stream", "default_stream")
_REFUSAL = "Non-default streams are not yet supported."


def attach(module) -> None:
    has_base, has_streams = module.in_force_since(2, 14), module.in_force_since(2, 15)
    for name, there in (
        ("_MPSStreamBase", has_base),
        ("_mps_setStream", has_base),
        ("_mps_getCurrentStream", has_streams),
    ):
        if there:
            setattr(torch._C, name, getattr(module, name))
        elif hasattr(torch._C, name):
            delattr(torch._C, name)
    own = sys.modules.get("torch.mps.streams")
    if has_streams and own is not None:
        # Its class took a stand-in for its base when torch was imported.
        _set_names(importlib.reload(own))
    elif has_streams:
        _set_names(_definitions())
        for name in ("record", "wait"):
            setattr(torch.mps.Event, name, _on_default_stream(getattr(torch.mps.Event, name)))
    elif own is not None:
        _remove_names()


def _set_names(source) -> None:
    for name in _NAMES:
        setattr(torch.mps, name, getattr(source, name))
        if name not in torch.mps.__all__:
            torch.mps.__all__.append(name)


def _remove_names() -> None:
    for name in (*_NAMES, "streams"):
        delattr(torch.mps, name)
    torch.mps.__all__[:] = [name for name in torch.mps.__all__ if name not in _NAMES]
    del sys.modules["torch.mps.streams"]
    torch.mps.Event.record = lambda self: torch._C._mps_recordEvent(self._Event__eventId)
    torch.mps.Event.wait = lambda self: torch._C._mps_waitForEvent(self._Event__eventId)


def _on_default_stream(method):
    @functools.wraps(method)
    def checked(self):
        if torch.mps.current_stream() != torch.mps.default_stream():
            raise NotImplementedError(_REFUSAL)
        return method(self)

    return checked


def _definitions():
    """For `--as-torch 2.15` on a release whose wheel has none of this."""

    class Stream(torch._C._MPSStreamBase):
        def __repr__(self):
            return f"<torch.mps.Stream stream_id={self.stream_id}>"

    def current_stream():
        return Stream(stream_id=torch._C._mps_getCurrentStream().stream_id)

    def default_stream():
        return Stream(stream_id=0)

    def set_stream(stream):
        if stream is not None:
            torch._C._mps_setStream(stream)

    @contextlib.contextmanager
    def stream(stream):
        before = current_stream()
        set_stream(stream)
        try:
            yield
        finally:
            if stream is not None:
                set_stream(before)

    found = locals()
    for name in _NAMES:
        found[name].__module__ = "torch.mps.streams"
        found[name].__qualname__ = name
    return types.SimpleNamespace(**{name: found[name] for name in _NAMES})
