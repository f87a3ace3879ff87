import os
import pathlib
import shutil
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def anymps() -> str:
    """The executable: $ANYMPS_EXECUTABLE, else the one of the environment that runs the tests."""
    chosen = os.environ.get("ANYMPS_EXECUTABLE") or str(pathlib.Path(sys.executable).parent / "anymps")
    if shutil.which(chosen) is None:
        pytest.fail(f"no anymps executable at {chosen}; build first, or set ANYMPS_EXECUTABLE")
    return chosen


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """This process's own, without what would change the outcome, and with this Python as the environment's."""
    unwanted = ("ANYMPS", "PYTORCH_ENABLE_MPS_FALLBACK", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    return kept | {"VIRTUAL_ENV": sys.prefix, "TMPDIR": str(temporary), "ANYMPS_CACHE": str(tmp_path / "cache")}


@pytest.fixture
def call(anymps, environment, tmp_path):
    """Runs the executable in an empty folder and returns what it did."""

    def call_anymps(*words, timeout=120, **variables) -> subprocess.CompletedProcess:
        return subprocess.run(
            [anymps, *map(str, words)],
            env=environment | variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )

    return call_anymps
