"""Operators of OpInfo, every MPS dtype, forward, gradient and error inputs, against the CPU: a slice of all pairs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import slices

HERE = Path(__file__).resolve().parent
OUTCOMES = HERE / "outcomes-2.13.tsv"
GOAL = 0.995
SLICE = slices.chosen("1/10")
BUDGET_S = 15 * 60  # all of them take 6 minutes of one idle core; a hung pair costs one

sys.path.insert(0, str(HERE))


def run(*arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, str(HERE / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=BUDGET_S, check=False)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """The slice, once: {pair: outcome}, and what it printed."""
    import table

    out = tmp_path_factory.mktemp("opinfo") / "now.tsv"
    done = run("--slice", SLICE, "--table", out)
    assert done.returncode == 0, done.stderr[-3000:]
    return table.read(out), done.stdout


def test_pairs_agree_with_the_cpu(outcomes):
    import classify

    found, printed = outcomes
    counted = [outcome for outcome in found.values() if outcome not in classify.NOT_COUNTED]
    _, parts = map(int, SLICE.split("/"))
    assert len(counted) > 5000 / parts, "most of the slice was not run"
    agreeing = sum(outcome in classify.GOOD for outcome in counted)
    assert agreeing >= GOAL * len(counted), printed[-6000:]


def test_nothing_crashes_or_hangs(outcomes):
    found, printed = outcomes
    dead = [pair.id.replace("\t", " ") for pair, outcome in found.items() if outcome in ("crash", "timeout", "memory")]
    assert dead == [], printed[-6000:]


@pytest.mark.skipif(not OUTCOMES.exists(), reason="no table of outcomes is committed yet")
def test_no_pair_got_worse(outcomes):
    import classify
    import table

    found, _ = outcomes
    before = table.read(OUTCOMES)
    worse = [
        f"{pair.id}: {before[pair]} -> {outcome}".replace("\t", " ")
        for pair, outcome in found.items()
        if before.get(pair) in classify.GOOD and outcome not in classify.GOOD
    ]
    assert worse == []


@pytest.mark.skipif(not OUTCOMES.exists(), reason="no table of outcomes is committed yet")
def test_every_pair_of_the_table_exists():
    import run as runner
    import table

    existing = set(runner.list_pairs(dict(os.environ)))
    missing = [pair.id.replace("\t", " ") for pair in table.read(OUTCOMES) if pair not in existing]
    assert missing == [], "pairs of the committed table that no longer exist"
