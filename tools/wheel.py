"""Makes the wheel for one Python and this machine, with libraries for several releases of PyTorch in it.

    python tools/wheel.py build/release --into dist

    python tools/wheel.py build/release --into dist --python 3.12

The folder is CMake's, with the targets `all` and `anymps_for_wheels` built. Beside the wheel, an archive holds what
debuggers need of its binaries. Nothing in it may need more than the systems that it is for have (see Limits), else the
names of what does are printed, and there is no wheel.
"""

from __future__ import annotations

import argparse
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Ubuntu 22.04, and all that is newer: Ubuntu 24.04, Debian 12.
LIMITS = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
# What every Linux has that can run PyTorch, and what comes with PyTorch.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libgcc_s.so.1", "libstdc++.so.6"}
SYSTEM |= {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
TORCH = {"libtorch.so", "libtorch_cpu.so", "libtorch_python.so", "libc10.so", "libanymps.so"}


def run(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def is_binary(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def problems(binary: Path) -> list[str]:
    """What of it would not be there on some system that the wheel is for."""
    found = []
    for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", run("readelf", "-dW", binary)):
        if needed not in SYSTEM | TORCH:
            found.append(f"{binary.name} needs {needed}")
    for symbol, family, version in re.findall(
        r" UND (\S+)@(\w+)_([\d.]+)", run("readelf", "-sW", "--dyn-syms", binary)
    ):
        if family in LIMITS and tuple(map(int, version.split("."))) > LIMITS[family]:
            found.append(f"{binary.name} needs {symbol} of {family}_{version}")
    return found


def strip(binary: Path, debug: Path) -> None:
    debug.parent.mkdir(parents=True, exist_ok=True)
    run("objcopy", "--only-keep-debug", "--compress-debug-sections", binary, debug)
    run("strip", "--strip-unneeded", binary)
    run("objcopy", f"--add-gnu-debuglink={debug}", binary)


def install(build: Path, tree: Path, python: str) -> None:
    """What was compiled, into an unpacked wheel, without the modules for other versions of Python."""
    scripts = ["src/gpu", "src/metal", "src/lab", *(f"{folder.name}/*" for folder in build.glob("torch*"))]
    for pattern in scripts:
        for script in sorted(build.glob(f"{pattern}/cmake_install.cmake")):
            run("cmake", f"-DCMAKE_INSTALL_PREFIX={tree}", "-P", script)
    for module in tree.glob("anymps/lib/torch*/_C.*.so"):
        if f"-{python}-" not in module.name:
            module.unlink()
    folder = next(tree.glob("anymps-*.dist-info"))
    commands = tree / folder.name.replace(".dist-info", ".data") / "scripts"
    commands.mkdir(parents=True)
    shutil.copy2(build / "src/cli/anymps", commands)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--into", type=Path, default=Path("dist"), metavar="FOLDER")
    parser.add_argument("--python", default=f"{sys.version_info.major}.{sys.version_info.minor}", metavar="VERSION")
    options = parser.parse_args()
    python = options.python.replace(".", "")
    options.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q", "--no-build-isolation"]
        run(*pip, "--no-deps", "-C", "wheel.cmake=false", "-w", folder, ROOT)
        run(sys.executable, "-m", "wheel", "unpack", "-d", folder, next(folder.glob("*.whl")))
        tree = next(folder.glob("anymps-*/"))
        install(options.build.resolve(), tree, python)
        binaries = [file for file in sorted(tree.rglob("*")) if file.is_file() and is_binary(file)]
        if found := [problem for binary in binaries for problem in problems(binary)]:
            sys.exit("no wheel is made: it would not run everywhere\n" + "\n".join(f"  {line}" for line in found))
        for binary in binaries:
            strip(binary, folder / "debug" / f"{binary.relative_to(tree)}.debug")
        tag = f"cp{python}-cp{python}-manylinux_{'_'.join(map(str, LIMITS['GLIBC']))}_{platform.machine()}"
        facts = next(tree.glob("*.dist-info/WHEEL"))
        text = re.sub(r"^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", facts.read_text(), flags=re.MULTILINE)
        facts.write_text(re.sub(r"^Tag: .*\n", "", text, flags=re.MULTILINE).rstrip() + f"\nTag: {tag}\n")
        run(sys.executable, "-m", "wheel", "pack", "-d", options.into, tree)
        wheel = options.into / f"{tree.name}-{tag}.whl"
        archive = options.into / f"{tree.name}-{tag}-debug.tar.xz"
        with tarfile.open(archive, "w:xz", preset=1) as packed:
            packed.add(folder / "debug", arcname=".")
        for binary in binaries:
            print(f"{binary.stat().st_size / 1e6:8.1f} MB  {binary.relative_to(tree)}")
    for file in (wheel, archive):
        print(f"{file.stat().st_size / 1e6:8.1f} MB  {file}")


if __name__ == "__main__":
    main()
