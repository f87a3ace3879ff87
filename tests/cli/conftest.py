import os
import subprocess
import sys

import pytest


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """This process's own, without what would change the outcome, and with this Python as the environment's."""
    unwanted = ("ANYMPS", "PYTORCH_ENABLE_MPS_FALLBACK", "NO_COLOR", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    own = {"TMPDIR": temporary, "ANYMPS_CACHE": tmp_path / "cache", "ANYMPS_LOGBOOK": tmp_path / "logbook.sqlite"}
    return kept | {"VIRTUAL_ENV": sys.prefix} | {name: str(path) for name, path in own.items()}


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
