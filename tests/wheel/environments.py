"""Environments in which the wheel is tried."""

from __future__ import annotations

import pathlib
import subprocess
import time

from virtual_environment import VirtualEnvironment


class Environment(VirtualEnvironment):
    """With a release of PyTorch, where a compiler, LLVM and the checkout are out of reach."""

    def __init__(self, path: pathlib.Path, packages: pathlib.Path, release: str) -> None:
        super().__init__(path, packages)
        self.release = release
        self.home = path / "home"
        self.home.mkdir()

    def install(self, wheel: pathlib.Path) -> float:
        """In seconds."""
        began = time.monotonic()
        self.run("python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps", wheel)
        return time.monotonic() - began

    def run(self, *command, check: bool = True, status: int = 0, **variables: str) -> subprocess.CompletedProcess:
        environment = {"PATH": str(self.bin), "HOME": str(self.home), "LANG": "C.UTF-8", **variables}
        finished = self.call(command, environment, self.home)
        if check:
            assert finished.returncode == status, finished.stdout + finished.stderr
        return finished

    def python(self, code: str, **named) -> str:
        return self.run("python", "-c", code, **named).stdout.strip()
