import subprocess
import sys

import pytest
import torch


@pytest.fixture
def python():
    """Runs a snippet in a fresh interpreter and returns the finished process."""

    def run(code: str, *, check: bool = True, timeout: int = 120, **environment: str) -> subprocess.CompletedProcess:
        import os

        finished = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **environment},
        )
        if check:
            assert finished.returncode == 0, finished.stderr
        return finished

    return run


@pytest.fixture(autouse=True)
def _no_error_left_behind():
    """A test that leaves an asynchronous error behind would fail its neighbour."""
    yield
    torch.mps.synchronize()
