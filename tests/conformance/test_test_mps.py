"""PyTorch's own test_mps.py, where somebody has it: ANYMPS_TEST_MPS=path/to/test_mps.py (release 2.13.0).

ANYMPS_TEST_MPS_SLICE=K/N runs every Nth test only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OUTCOMES = HERE / "outcomes-2.13.tsv"
TEST_MPS = os.environ.get("ANYMPS_TEST_MPS", "")
SLICE = os.environ.get("ANYMPS_TEST_MPS_SLICE", "")


@pytest.mark.skipif(not TEST_MPS, reason="ANYMPS_TEST_MPS does not name PyTorch's test/test_mps.py")
def test_no_test_of_test_mps_got_worse():
    command = [sys.executable, str(HERE / "run_test_mps.py"), TEST_MPS, "--jobs", "2", "--against", str(OUTCOMES)]
    done = subprocess.run(
        command + (["--slice", SLICE] if SLICE else []), stdout=subprocess.PIPE, text=True, timeout=3600, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.skipif(not OUTCOMES.exists(), reason="no table of outcomes is committed yet")
def test_the_committed_outcomes_meet_the_goal():
    """No crash; 99% of the tests that need no shader compiler end as on a Mac."""
    sys.path.insert(0, str(HERE))
    import outcomes

    found = list(outcomes.read(OUTCOMES).values())
    assert [o.test for o in found if o.outcome == "crash"] == []
    counted = [o for o in found if o.needs != "shader" and o.outcome != outcomes.RIGHT_WHERE_A_MAC_IS_WRONG]
    assert len(counted) > 5000
    assert sum(o.good for o in counted) >= 0.99 * len(counted)
