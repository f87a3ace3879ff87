"""What `anymps check` has Python tell: calls of PyTorch's Python functions that matter on a Mac.

Each file watches one part of PyTorch, by wrapping its functions in this process. Findings go to the trace, at the line
of the user's that runs (`_C.note_finding`); operators and copies are watched in C++ (src/backend/check*.cpp).
"""

from __future__ import annotations


def install(module) -> None:
    """Called once, when ANYMPS_CHECK is set and the device is loaded."""
    from anymps._check import cuda, expected, gradients, loader, memory, names, races, waits

    for part in (cuda, expected, gradients, loader, memory, names, races, waits):
        part.install(module)
    module.watch_calls()
