"""PyTorch's own tests of Inductor on mps, where somebody has them: ANYMPS_TEST_INDUCTOR=path/to/pytorch/test/inductor
(release 2.13.0). ANYMPS_TEST_INDUCTOR_SLICE=K/N runs every Nth test only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OUTCOMES = HERE / "inductor-2.13.tsv"
FOLDER = os.environ.get("ANYMPS_TEST_INDUCTOR", "")
SLICE = os.environ.get("ANYMPS_TEST_INDUCTOR_SLICE", "")
FILES = {
    "test_mps_basic": ("MPSBasicTests", "MPSBasicTestsAOTI"),
    "test_torchinductor": ("SweepInputsGPUTest", "GPUTests", "CheckModelStrideSemanticsTest"),
}


@pytest.mark.skipif(not FOLDER, reason="ANYMPS_TEST_INDUCTOR does not name PyTorch's test/inductor")
@pytest.mark.parametrize("name", FILES)
def test_no_test_of_inductor_got_worse(name):
    command = [sys.executable, str(HERE / "run_test_mps.py"), str(Path(FOLDER, f"{name}.py")), "--limit-s", "300"]
    command += ["--jobs", "2", "--against", str(OUTCOMES), *(["--slice", SLICE] if SLICE else [])]
    for test_class in FILES[name]:
        command += ["--class", test_class]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=7200, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_committed_outcomes_meet_the_goal():
    """No crash; 99% end as on a Mac."""
    sys.path.insert(0, str(HERE))
    import outcomes

    found = list(outcomes.read(OUTCOMES).values())
    assert [o.test for o in found if o.outcome in ("crash", "timeout", "memory")] == []
    counted = [o for o in found if o.outcome not in ("skipped", outcomes.RIGHT_WHERE_A_MAC_IS_WRONG)]
    assert len(counted) > 1000
    assert sum(o.good for o in counted) >= 0.99 * len(counted)
