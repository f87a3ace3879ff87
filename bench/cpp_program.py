"""Builds a program of bench/cpp."""

from __future__ import annotations

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def build(name: str) -> pathlib.Path:
    folder = ROOT / "build" / "release"
    if not (folder / "build.ninja").exists():
        sys.exit(f"{sys.argv[0]}: there is no {folder}; `make build` makes it")
    for command in (["cmake", "-DANYMPS_BUILD_BENCH=ON", folder], ["cmake", "--build", folder, "--target", name]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}{done.stderr}\n{sys.argv[0]}: the build above failed")
    return folder / "bench" / "cpp" / name
