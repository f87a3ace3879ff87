import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from anymps._executable import executable

pytest.importorskip("PIL", reason="pip install pillow to make pictures")

from pictures import write_pictures


class Sr:
    """`anymps sr` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYMPS_MAC", "PYTORCH_MPS"))}
        self.environment = kept | {"VIRTUAL_ENV": sys.prefix, "OMP_NUM_THREADS": "1"}

    def run(self, *words, status: int | None = 0, **variables) -> subprocess.CompletedProcess:
        result = subprocess.run(
            [executable(), "sr", *map(str, words)], env=self.environment | variables, cwd=self.folder,
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600,
        )  # fmt: skip
        assert status is None or result.returncode == status, result.stderr
        return result

    def start(self, *words) -> subprocess.Popen:
        return subprocess.Popen(
            [executable(), "sr", *map(str, words)], env=self.environment, cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def json(self, *words, **keywords) -> dict:
        return json.loads(self.run(*words, "--json", "--quiet", **keywords).stdout)

    def log(self, run: str) -> list[dict]:
        return [json.loads(line) for line in (self.folder / run / "log.jsonl").read_text().splitlines()]


@pytest.fixture
def sr(tmp_path) -> Sr:
    return Sr(tmp_path)


@pytest.fixture(scope="session")
def database(tmp_path_factory) -> Path:
    """Pairs at scale 2, of pictures that were made here."""
    folder = tmp_path_factory.mktemp("pairs")
    write_pictures(folder / "pictures", 24)
    Sr(folder).run("pack", "pictures", "pairs.lmdb", "--scale", 2)
    return folder / "pairs.lmdb"
