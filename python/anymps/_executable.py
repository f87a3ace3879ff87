"""Where the `anymps` command is."""

from __future__ import annotations

import os
import shutil
import sysconfig


def executable() -> str:
    """$ANYMPS_EXECUTABLE, else the one of this environment, else the first on PATH."""
    if chosen := os.environ.get("ANYMPS_EXECUTABLE"):
        return chosen
    beside = os.path.join(sysconfig.get_path("scripts"), "anymps")
    found = beside if os.path.exists(beside) else shutil.which("anymps")
    if found is None:
        raise RuntimeError("anymps: the `anymps` executable is not in this environment")
    return found
