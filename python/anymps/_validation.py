"""The sanitiser for Metal kernels, docs/validation.md."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


def validation_reports() -> list[dict]:
    """What the sanitiser found in launches since the last call: one entry for a fault and its place in a kernel.

    `fault`, `kernel`, `access`, `argument`, `binding`, `thread` and `threadgroup` (positions), `offset` and `size` in
    bytes, `site`, `place` (a source line, where the library has them), `count`, and all of it as `text`.
    """
    from anymps import _C

    return _C.take_validation_reports()


@contextlib.contextmanager
def validating() -> Iterator[list[dict]]:
    """Validates the kernels that are launched inside, whatever ANYMPS_VALIDATE says. Its list is filled at the end."""
    from anymps import _C

    reports: list[dict] = []
    _C.take_validation_reports()
    _C.validate_launches(True)
    try:
        yield reports
    finally:
        _C.validate_launches(False)
        reports += _C.take_validation_reports()
