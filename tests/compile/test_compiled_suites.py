"""A fixed part of what `make test-full` runs whole: OpInfo's operators and models by torch.compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import slices

TESTS = Path(__file__).resolve().parents[1]
BUDGET_S = 15 * 60  # two minutes each on two idle cores


def run(program: str, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(TESTS / program), "--jobs", "2", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=BUDGET_S, check=False)


def test_some_operators_agree_with_the_cpu(tmp_path):
    sys.path.insert(0, str(TESTS / "opinfo"))
    import classify
    import table

    done = run(
        "opinfo/run.py", "--compiled", "1", "--slice", slices.chosen("4/30"), "--table", str(tmp_path / "now.tsv")
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = table.read(tmp_path / "now.tsv")
    assert sum(outcome in classify.GOOD for outcome in found.values()) > 0.7 * len(found)
    assert [pair.id for pair, outcome in found.items() if outcome in classify.BAD] == [], done.stdout[-5000:]


def test_some_models_are_what_they_are_without_it():
    done = run("compile/models.py", "--models", "^tour (gnn_by_scatter_mean|mobilenet_depthwise)")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert " equal" in done.stdout
