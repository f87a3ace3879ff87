"""Metal libraries whose source is not trusted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile


def _executable() -> str:
    """The `anymps` of this environment, which reads the library in a child process of its own."""
    beside = os.path.join(sysconfig.get_path("scripts"), "anymps")
    found = beside if os.path.exists(beside) else shutil.which("anymps")
    if found is None:
        raise RuntimeError("anymps: the `anymps` executable is not in this environment")
    return found


def validate_metallib(library: bytes | str | os.PathLike) -> None:
    """Raises ValueError with the reason unless every function of the library (its bytes, or its path) can be read.

    Reading happens in a child process: a library that crashes LLVM's reader is refused here, and this process lives on.
    It says that the library can be read, not that its kernels are harmless: see docs/security.md.
    """
    if isinstance(library, bytes):
        with tempfile.NamedTemporaryFile(suffix=".metallib") as file:
            file.write(library)
            file.flush()
            return validate_metallib(file.name)
    command = [_executable(), "metal", "list", "--json", os.fspath(library)]
    finished = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if finished.returncode == 2:
        raise ValueError(finished.stderr.strip())
    if finished.returncode != 0:
        raise RuntimeError(finished.stderr.strip())
    return None
