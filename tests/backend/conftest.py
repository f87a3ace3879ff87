import os
import subprocess
import sys

import pytest
import torch
from ready_interpreter import Ready


@pytest.fixture(scope="session")
def ready_interpreter():
    ready = Ready()
    yield ready
    ready.close()


@pytest.fixture
def python(ready_interpreter):
    """Runs a snippet as `python -c` would and returns the finished process. It is forked from one that has torch."""

    def run(code: str, *, check: bool = True, timeout: int = 120, **environment: str) -> subprocess.CompletedProcess:
        finished = ready_interpreter.run(code, {**os.environ, **environment}, timeout)
        if check:
            assert finished.returncode == 0, finished.stderr
        return finished

    return run


@pytest.fixture
def fresh_python():
    """The same by `python -c` itself: for what happens while torch is imported."""

    def run(code: str, *, check: bool = True, timeout: int = 120, **environment: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", code]
        environment = {**os.environ, **environment}
        finished = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
        if check:
            assert finished.returncode == 0, finished.stderr
        return finished

    return run


@pytest.fixture(autouse=True)
def _no_error_left_behind():
    """A test that leaves an asynchronous error behind would fail its neighbour."""
    yield
    torch.mps.synchronize()
