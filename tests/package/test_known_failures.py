"""The table of known failures is what tools/known_failures.py makes of the installed torch."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def test_known_failures_are_those_of_the_installed_torch():
    command = [sys.executable, ROOT / "tools" / "known_failures.py", "--check"]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
