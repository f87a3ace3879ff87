"""Environments with a PyTorch and nothing of ours. Each takes some gigabytes, so that they are made once and kept."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import time

KEPT = pathlib.Path(os.environ.get("ANYMPS_TORCH_ENVIRONMENTS", pathlib.Path.home() / ".cache" / "anymps-environments"))
# What the tests need beside torch: PyTorch's own for OpInfo, and what users have.
BESIDE = ("numpy", "expecttest", "pytest", "pyyaml", "safetensors", "scipy")


def with_torch(release: str) -> pathlib.Path:
    """The folder of packages of an environment that has the newest torch of this release."""
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    folder = KEPT / f"torch{release}-{python}"
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    if (folder / "ready").exists():
        return packages
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-cache-dir"]
    subprocess.run([*pip, f"torch=={release}.*", *BESIDE], check=True)
    (folder / "ready").touch()
    return packages


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
            if not package.name.startswith("anymps") and not link.exists():
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
