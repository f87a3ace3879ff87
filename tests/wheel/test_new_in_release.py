"""What is new, gone or told otherwise in a release of PyTorch: where it is installed, and where another one is."""

import collections
import csv
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "cmake"))
from refusal_table import is_of  # noqa: E402 - found by the line above

RELEASES = ("2.11", "2.12", "2.13", "2.14", "2.15")


def table() -> dict[str, list[str]]:
    """The releases of each expression's rows."""
    lines = [line for line in (HERE / "new_in_release.tsv").read_text().splitlines() if not line.startswith("#")]
    found = collections.defaultdict(list)
    for row in csv.DictReader(lines, delimiter="\t"):
        found[row["expression"]].append(row["releases"])
    return found


@pytest.mark.parametrize("expression", table())
def test_a_release_has_one_row(expression):
    for release in RELEASES:
        rows = [releases for releases in table()[expression] if is_of(releases, release)]
        assert len(rows) == 1, release


def test_the_table_of_known_failures_is_of_that_release(installed):
    installed.run("python", ROOT / "tools" / "known_failures.py", "--check")


def test_as_in_that_release(installed):
    finished = installed.run("python", HERE / "try_new_in_release.py", check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
