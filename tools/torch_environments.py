"""Environments with a PyTorch and nothing of ours. Each takes some gigabytes, so that they are made once and kept.

    python tools/torch_environments.py 2.14 2.15     makes those that are not there, and prints their folders
    python tools/torch_environments.py --newest-of 2.14 2.15     the last of them that pip has for this Python

They lie in ANYMPS_TORCH_ENVIRONMENTS, else in the user's cache. The release that the running Python has is not
installed again.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).parents[1]
KEPT = pathlib.Path(os.environ.get("ANYMPS_TORCH_ENVIRONMENTS", pathlib.Path.home() / ".cache" / "anymps-environments"))
# What the tests need beside torch: PyTorch's own for OpInfo, and what users have.
BESIDE = ("numpy", "expecttest", "pytest", "pyyaml", "safetensors", "scipy")


def python_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def release_here() -> str:
    """Of the torch that this Python has, or an empty string."""
    listed = subprocess.run([sys.executable, ROOT / "cmake/torch_facts.py"], capture_output=True, text=True)
    return "" if listed.returncode else ".".join(listed.stdout.split(";")[1].split(".")[:2])


def folder_of(name: str) -> pathlib.Path:
    return KEPT / f"{name}-py{python_version().replace('.', '')}"


def made(release: str) -> pathlib.Path | None:
    """The folder of packages of an environment that is there."""
    folder = folder_of(f"torch{release}")
    return folder / "lib" / f"python{python_version()}" / "site-packages" if (folder / "ready").exists() else None


def with_torch(release: str) -> pathlib.Path:
    """The folder of packages of an environment that has the newest torch of this release."""
    if release == release_here():
        return pathlib.Path(sysconfig.get_paths()["purelib"])
    if (packages := made(release)) is not None:
        return packages
    folder = folder_of(f"torch{release}")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-cache-dir"]
    subprocess.run([*pip, f"torch=={release}.*", *BESIDE], check=True)
    (folder / "ready").touch()
    return made(release)


def with_packages(name: str, *requirements: str) -> pathlib.Path | None:
    """A folder for PYTHONPATH that has them, or nothing where pip cannot bring them."""
    folder = folder_of(name)
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-cache-dir"]
        if subprocess.run([*pip, "--target", folder, *requirements]).returncode != 0:
            return None
        (folder / "ready").touch()
    return folder


def newest_of(releases: list[str]) -> str:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "index", "versions", "torch"]
    listed = subprocess.run(pip, capture_output=True, text=True)
    versions = {version.split("+")[0] for version in re.findall(r"\d+\.\d+\.\d+\S*", listed.stdout)}
    there = {".".join(version.split(".")[:2]) for version in versions}
    found = [release for release in releases if release in there]
    if not found:
        sys.exit(f"pip has no torch of {', '.join(releases)} for Python {python_version()}: {listed.stderr.strip()}")
    return found[-1]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--newest-of"]:
        print(newest_of(sys.argv[2:]))
    else:
        for asked in sys.argv[1:]:
            print(with_torch(asked), flush=True)
