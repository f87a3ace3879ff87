"""Builds a program of bench/cpp."""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build(name: str) -> pathlib.Path:
    folder = ROOT / "build" / "bench"
    configure = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja"]
    configure += ["-DANYMPS_WITH_BACKEND=OFF", "-DANYMPS_BUILD_BENCH=ON"]
    for command in (configure, ["cmake", "--build", folder, "--target", name]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}{done.stderr}\n{sys.argv[0]}: the build above failed")
    return folder / "bench" / "cpp" / name
