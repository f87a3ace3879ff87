"""Which PyTorch is installed, and where the libraries lie that were built for it.

A wheel holds libraries for several minor releases of PyTorch, each in a folder of its own: lib/torch2.13, ... They fit
any patch release of that minor one.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import metadata

_LIBRARIES = os.path.join(os.path.dirname(__file__), "lib")


def found() -> str:
    """The version of PyTorch, without what its build is called: 2.13.0. Does not import it."""
    torch = sys.modules.get("torch")
    version = torch.__version__ if torch is not None else metadata.version("torch")
    return str(version).split("+")[0]


def known() -> list[str]:
    """The minor releases that there are libraries for, oldest first."""
    try:
        names = os.listdir(_LIBRARIES)
    except FileNotFoundError:
        return []
    minors = [name.removeprefix("torch") for name in names if re.fullmatch(r"torch\d+\.\d+", name)]
    return sorted(minors, key=lambda minor: [int(part) for part in minor.split(".")])


def folder() -> str:
    """Of the PyTorch that is found, whether or not there is one."""
    minor = ".".join(found().split(".")[:2])
    return os.path.join(_LIBRARIES, f"torch{minor}")


def problem() -> str | None:
    """Why there are no libraries for the PyTorch that is found, as a user would want to be told."""
    try:
        if os.path.isdir(folder()):
            return None
    except metadata.PackageNotFoundError:
        return "there is no torch in this environment"
    minors = known()
    if not minors:
        return "this installation has no libraries for any PyTorch; install anymps again"
    several = f"{', '.join(minors[:-1])} and {minors[-1]}" if len(minors) > 1 else minors[0]
    return f"this copy is for torch {several}, and torch is {found()}"
