"""Environments in which the wheel is tried."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import time


class Environment:
    """A virtual environment with that PyTorch, in which a compiler, LLVM and the checkout are out of reach."""

    def __init__(self, path: pathlib.Path, packages: pathlib.Path, release: str) -> None:
        self.release = release
        self.bin = path / "bin"
        self.home = path / "home"
        subprocess.run([sys.executable, "-m", "venv", path], check=True)
        self.home.mkdir()
        self.packages = next(path.glob("lib/python3*/site-packages"))
        # Links instead of a second installation.
        for package in packages.iterdir():
            link = self.packages / package.name
            if "anymps" not in package.name and not link.exists():
                link.symlink_to(package)

    def install(self, wheel: pathlib.Path) -> float:
        """In seconds."""
        began = time.monotonic()
        self.run("python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps", wheel)
        return time.monotonic() - began

    def run(self, *command, check: bool = True, status: int = 0, **variables: str) -> subprocess.CompletedProcess:
        finished = subprocess.run(
            [self.bin / command[0], *command[1:]],
            capture_output=True,
            text=True,
            env={"PATH": str(self.bin), "HOME": str(self.home), "LANG": "C.UTF-8", **variables},
            cwd=self.home,
        )
        if check:
            assert finished.returncode == status, finished.stdout + finished.stderr
        return finished

    def python(self, code: str, **named) -> str:
        return self.run("python", "-c", code, **named).stdout.strip()
