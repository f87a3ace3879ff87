"""Runs a script under the recorder where anymps is not installed: python -m PACKAGE [-m] SCRIPT [ARGUMENT...]"""

from __future__ import annotations

import os
import runpy
import sys

from . import install


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: python -m PACKAGE [-m] SCRIPT [ARGUMENT...]", file=sys.stderr)
        return 2
    import torch  # noqa: F401 - where anymps is installed, this brings its own recorder

    installed = sys.modules.get("anymps._lab")
    if installed is None or not installed.is_installed():
        install()
    del sys.argv[0]
    if sys.argv[0] == "-m" and len(sys.argv) > 1:
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
