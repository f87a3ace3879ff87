"""Brings what is compiled against of other releases of PyTorch: headers, libraries and the list of operators.

    python tools/torch_package.py build/torch 2.11 2.15     the newest patch release of each
    python tools/torch_package.py build/torch 2.15 --wheel torch-2.15.0-....whl

pip fetches the wheel, half a gigabyte; nothing of it is installed or run. It lies in build/torch/2.15/torch then. Where
tools/torch_environments.py has installed that release already, a link to it is enough.
"""

import argparse
import fnmatch
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

import torch_environments

# Libraries that ours are linked with. Those for CUDA are the larger part of a wheel, and nothing here needs them.
WANTED = (
    "torch/version.py",
    "torch/include/*",
    *(f"torch/lib/{name}.so" for name in ("libtorch", "libtorch_cpu", "libtorch_python", "libc10")),
    "torch/testing/_internal/common_mps.py",
    "torchgen/*",
)


def download(release: str, folder: pathlib.Path) -> pathlib.Path:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--only-binary=:all:"]
    if subprocess.run([*command, "-d", folder, f"torch=={release}.*"]).returncode != 0:
        sys.exit(f"pip has no torch {release} for this Python and this machine")
    return next(folder.glob("torch-*.whl"))


def unpack(wheel: pathlib.Path, target: pathlib.Path) -> None:
    """Whole or not at all: a folder that is there was unpacked to its end."""
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if any(fnmatch.fnmatch(name, pattern) for pattern in WANTED)]
        archive.extractall(partial, names)
    partial.replace(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("releases", nargs="+", metavar="RELEASE", help="2.15")
    parser.add_argument("--wheel", type=pathlib.Path, help="take this file for the one release that is named")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for release in options.releases:
        target = options.folder / release
        if target.exists():
            continue
        if options.wheel is None and (installed := torch_environments.made(release)) is not None:
            target.symlink_to(installed)
            continue
        with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
            wheel = options.wheel or download(release, pathlib.Path(temporary))
            unpack(wheel, target)
        version = (target / "torch" / "version.py").read_text()
        print(f"{target}: torch {version.split('__version__ = ')[1].splitlines()[0].strip(chr(39))}", flush=True)


if __name__ == "__main__":
    main()
