"""PyTorch's own tests of its profiler, where somebody has them: ANYMPS_TEST_PROFILER=path/to/pytorch/test/profiler
(release 2.13.0). Their device-generic classes are made for mps too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OUTCOMES = HERE / "profiler-2.13.tsv"
FOLDER = os.environ.get("ANYMPS_TEST_PROFILER", "")
# Those that have tests for a machine without CUDA.
FILES = (
    "test_profiler",
    "test_memory_profiler",
    "test_execution_trace",
    "test_profiler_tree",
    "test_python_tracer",
    "test_record_function",
    "test_torch_tidy",
    "test_trace_validator",
)


@pytest.mark.skipif(not FOLDER, reason="ANYMPS_TEST_PROFILER does not name PyTorch's test/profiler")
@pytest.mark.parametrize("name", FILES)
def test_no_test_of_the_profiler_got_worse(name):
    file = Path(FOLDER, f"{name}.py")
    command = [sys.executable, str(HERE / "run_test_mps.py"), str(file), "--allow-mps", "--against", str(OUTCOMES)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=1800, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]
