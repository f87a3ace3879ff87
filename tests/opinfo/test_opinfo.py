"""Every operator of OpInfo, every MPS dtype, forward, gradient and error inputs, against the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OUTCOMES = HERE / "outcomes-2.13.tsv"
GOAL = 0.995
BUDGET_S = 15 * 60  # about 3 minutes with two processes on two idle cores; a hung pair costs one minute

sys.path.insert(0, str(HERE))


def run(*arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, str(HERE / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=BUDGET_S, check=False)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The whole run, once: {pair: outcome}, and what it printed."""
    import table

    out = tmp_path_factory.mktemp("opinfo") / "now.tsv"
    done = run("--jobs", 2, "--table", out)
    assert done.returncode == 0, done.stderr[-3000:]
    return table.read(out), done.stdout


def test_pairs_agree_with_the_cpu(everything):
    import classify

    found, printed = everything
    counted = [outcome for outcome in found.values() if outcome not in classify.NOT_COUNTED]
    assert len(counted) > 5000, "most of the database was not run"
    agreeing = sum(outcome in classify.GOOD for outcome in counted)
    assert agreeing >= GOAL * len(counted), printed[-6000:]


def test_nothing_crashes_or_hangs(everything):
    found, printed = everything
    dead = [pair.id.replace("\t", " ") for pair, outcome in found.items() if outcome in ("crash", "timeout", "memory")]
    assert dead == [], printed[-6000:]


@pytest.mark.skipif(not OUTCOMES.exists(), reason="no table of outcomes is committed yet")
def test_no_pair_got_worse(everything):
    import classify
    import table

    found, _ = everything
    before = table.read(OUTCOMES)
    worse = [
        f"{pair.id}: {before[pair]} -> {outcome}".replace("\t", " ")
        for pair, outcome in found.items()
        if before.get(pair) in classify.GOOD and outcome not in classify.GOOD
    ]
    assert worse == []
    missing = [pair.id.replace("\t", " ") for pair in before if pair not in found]
    assert missing == [], "pairs of the committed table that no longer exist"
