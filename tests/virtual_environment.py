"""Virtual environments in which anymps is installed and tried."""

from __future__ import annotations

import pathlib
import subprocess
import sys


class VirtualEnvironment:
    """One with the packages of a folder, PyTorch among them, and nothing of anymps but what a test installs."""

    def __init__(self, path: pathlib.Path, packages: pathlib.Path) -> None:
        self.bin = path / "bin"
        subprocess.run([sys.executable, "-m", "venv", path], check=True)
        self.packages = next(path.glob("lib/python3*/site-packages"))
        # Links instead of a second installation of gigabytes.
        for package in packages.iterdir():
            link = self.packages / package.name
            if "anymps" not in package.name and not link.exists():
                link.symlink_to(package)

    def call(self, command, environment: dict[str, str], folder: pathlib.Path) -> subprocess.CompletedProcess:
        """One of its programs, with its arguments."""
        program = [self.bin / command[0], *command[1:]]
        return subprocess.run(program, capture_output=True, text=True, env=environment, cwd=folder)
