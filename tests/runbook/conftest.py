import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from anymps._executable import executable

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "lab"


class Lab:
    """The runbook's commands, with a logbook of their own."""

    examples = EXAMPLES

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        temporary = folder / "tmp"
        temporary.mkdir()
        unwanted = ("ANYMPS_RUN", "ANYMPS_LAB", "ANYMPS_MAC", "PYTORCH_ENABLE_MPS_FALLBACK", "NO_COLOR", "COLUMNS")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        self.environment = kept | {
            "VIRTUAL_ENV": sys.prefix,
            "TMPDIR": str(temporary),
            "ANYMPS_LOGBOOK": str(folder / "logbook.sqlite"),
            "ANYMPS_CACHE": str(folder / "cache"),
            "OMP_NUM_THREADS": "1",
        }

    def words(self, verb: str, *words, script: str = "", arguments=()) -> list[str]:
        command = ["--", "python", str(EXAMPLES / script), *map(str, arguments)] if script else []
        return [executable(), *verb.split(), *map(str, words), *command]

    def run(self, verb: str, *words, script: str = "", arguments=(), timeout=300, **variables):
        return subprocess.run(
            self.words(verb, *words, script=script, arguments=arguments),
            env=self.environment | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )

    def document(self, verb: str, *words, **keywords) -> dict:
        """What --json prints; its status is that of the program."""
        result = self.run(verb, "--json", "--quiet", *words, **keywords)
        assert result.stdout, result.stderr
        document = json.loads(result.stdout)
        assert document["status"] == result.returncode
        return document


@pytest.fixture
def lab(tmp_path) -> Lab:
    return Lab(tmp_path)
