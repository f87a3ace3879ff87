"""Metal libraries whose source is not trusted."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile

from anymps._executable import executable


def _first_refusal(listing: str) -> str:
    """The first function that the listing has an error for, in words; nothing where the library was refused whole."""
    for function in json.loads(listing or "{}").get("functions", []):
        if "error" in function:
            return f"{function['name']}: {function['error']}; "
    return ""


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
    command = [executable(), "metal", "list", "--json", os.fspath(library)]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode == 2:
        raise ValueError(_first_refusal(finished.stdout) + finished.stderr.strip())
    if finished.returncode != 0:
        raise RuntimeError(finished.stderr.strip())
    return None


def load_metallib(library: bytes | str | os.PathLike):
    """torch.mps.load_metallib for a library (its bytes, or its path) that is not trusted to be whole.

    It goes through validate_metallib first, and raises what that raises.
    """
    import torch

    if not isinstance(library, bytes):
        # Read once: what was validated is what is loaded.
        with open(library, "rb") as file:
            library = file.read()
    validate_metallib(library)
    # What torch.mps.load_metallib calls, which PyTorch has from 2.13 on.
    return torch._C._mps_loadMetalllib(library)
