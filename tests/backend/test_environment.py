"""PYTORCH_MPS_* and their kin: each does what docs/environment.md says, and what does nothing is told."""

import pathlib
import re

import pytest
from anymps import _environment

FALL_BACK = """
import torch
torch.poisson(torch.ones(3, 2, device="mps"))
"""


def said(finished) -> list[str]:
    return [line for line in finished.stderr.splitlines() if line.startswith("[mps] ")]


def test_every_variable_is_documented():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "environment.md").read_text()
    assert {name for name in _environment.KNOWN if f"`{name}`" not in page} == set()


def test_fallbacks_are_logged_with_shapes_and_bytes(fresh_python):
    finished = fresh_python(FALL_BACK, PYTORCH_ENABLE_MPS_FALLBACK="1", PYTORCH_MPS_LOG_LEVEL="1")
    assert said(finished) == [
        "[mps] fallback to the CPU: aten::poisson(Float[3, 2]) -> (Float[3, 2]), 48 bytes copied at <string>:3"
    ]
    assert said(fresh_python(FALL_BACK, PYTORCH_ENABLE_MPS_FALLBACK="1")) == []


def test_the_fallback_that_nobody_asked_for_is_logged(python):
    finished = python("import torch; torch.linalg.svd(torch.eye(2, device='mps'))", PYTORCH_MPS_LOG_LEVEL="1")
    assert said(finished)[0].startswith("[mps] fallback to the CPU: aten::linalg_svd(Float[2, 2]) -> (Float[2, 2], ")


@pytest.mark.parametrize(("level", "waits", "allocations"), [("0", 0, 0), ("1", 0, 0), ("2", 1, 0), ("3", 1, 1)])
def test_levels(python, level, waits, allocations):
    code = "import torch; x = torch.empty(1000, device='mps'); torch.mps.synchronize()"
    lines = said(python(code, PYTORCH_MPS_LOG_LEVEL=level))
    assert sum("wait for the device: synchronize" in line for line in lines) == waits
    assert sum(line.startswith("[mps] allocated 4096 bytes, 4096 in tensors now") for line in lines) == allocations


def test_the_level_may_be_set_while_the_program_runs(python):
    """As the guides do it, after the import."""
    code = """
import os, torch
torch.mps.synchronize()
os.environ["PYTORCH_MPS_LOG_LEVEL"] = "2"
torch.mps.synchronize()
os.environ["PYTORCH_MPS_LOG_LEVEL"] = "0"
torch.mps.synchronize()
"""
    finished = python(code)
    assert len(said(finished)) == 1 and "Warning" not in finished.stderr


@pytest.mark.parametrize(
    ("name", "before", "late"),
    [
        ("PYTORCH_ENABLE_MPS_FALLBACK", "", True),
        ("PYTORCH_MPS_TRACE_SIGNPOSTS", "", True),
        ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "", False),
        ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "torch.ones(1, device='mps')", True),
        ("PYTORCH_DEBUG_MPS_ALLOCATOR", "torch.ones(1, device='mps')", True),
        ("PYTORCH_MPS_PREFER_METAL", "torch.ones(1, device='mps')", False),
    ],
)
def test_set_too_late(python, name, before, late):
    finished = python(f"import os, torch\n{before}\nos.environ[{name!r}] = '0'\n")
    assert (f"<string>:3: UserWarning: {name} is read when" in finished.stderr) == late
    assert finished.stderr.count("Warning") == int(late)


def test_a_value_that_is_put_back_is_told_once_or_not_at_all(python):
    put_back = "old = dict(os.environ); os.environ.clear(); os.environ.update(old)\n"
    finished = python("import os, torch\n" + put_back, PYTORCH_ENABLE_MPS_FALLBACK="1")
    assert finished.stderr == ""
    finished = python("import os, torch\nos.environ['PYTORCH_ENABLE_MPS_FALLBACK'] = '1'\n" + put_back)
    assert finished.stderr.count("is read when torch is imported") == 1


def test_unknown_names_get_the_nearest(python):
    finished = python("import torch", PYTORCH_MPS_HIGH_WATERMARK="1.0", PYTORCH_MPS_LOG_LEVEL="0")
    warning = "reads no PYTORCH_MPS_HIGH_WATERMARK; the nearest that it reads is PYTORCH_MPS_HIGH_WATERMARK_RATIO"
    assert finished.stderr.count(warning) == 1 and finished.stderr.count("Warning") == 1
    finished = python("import os, torch; os.environ.setdefault('PYTORCH_MPS_ENABLE_FALLBACK', '1')")
    assert re.search("reads no PYTORCH_MPS_ENABLE_FALLBACK; .* is PYTORCH_ENABLE_MPS_FALLBACK", finished.stderr)
    assert python("import os, torch; os.environ['PYTORCH_NO_MPSX'] = '1'").stderr == ""


def test_signposts_from_the_start(python):
    code = "import torch; torch.mps.profiler.start('event')"
    finished = python(code, check=False, PYTORCH_MPS_TRACE_SIGNPOSTS="0x2")
    assert "Tracing Signposts is already enabled" in finished.stderr
    assert python(code, PYTORCH_MPS_TRACE_SIGNPOSTS="0").stderr == ""


PROFILED = """
import torch
x = torch.ones(3, 2).to("mps")
for _ in range(2):
    y = torch.mul(x, x)
torch.poisson(y)
"""


def test_operators_copies_and_fallbacks_are_logged_as_they_run(python):
    finished = python(PROFILED, PYTORCH_ENABLE_MPS_FALLBACK="1", PYTORCH_MPS_LOG_PROFILE_INFO="7")
    lines = finished.stderr.splitlines()
    assert re.search(r"^aten::mul:MPS:Float\[3, 2\]:MPS:Float\[3, 2\] \(id=K\d+, run=2\)$", finished.stderr, re.M)
    assert "BlitCopySync: CPU:Float[3, 2] --> MPS:Float[3, 2] (len=24 bytes)" in lines
    assert "CPU Fallback::poisson:MPS:Float[3, 2] (id=1, run=1, CopyOverhead=24 bytes)" in lines
    assert "Profiling" not in finished.stderr


def test_only_what_is_asked_for_is_logged(python):
    finished = python(PROFILED, PYTORCH_ENABLE_MPS_FALLBACK="1", PYTORCH_MPS_LOG_PROFILE_INFO="0x82")
    logged = [line for line in finished.stderr.splitlines() if line.startswith(("aten::", "CPU Fallback", "BlitCopy"))]
    assert len(logged) == 1 and re.fullmatch(r"BlitCopySync: .* \(len=24 bytes, gpu=\d+\.\d{3} ms\)", logged[0])


def test_tables_are_printed_at_the_end(python):
    printed = python(PROFILED, PYTORCH_ENABLE_MPS_FALLBACK="1", PYTORCH_MPS_LOG_PROFILE_INFO="8").stderr
    assert re.search(r"^MPS Operations Profiling: \d+ runs, ", printed, re.M)
    assert re.search(r" 2 +\S+ +\S+ +96 bytes +mul:MPS:Float\[3, 2\]:MPS:Float\[3, 2\]$", printed, re.M)
    assert re.search(r"^MPS Copy Profiling: 1 runs, ", printed, re.M)
    assert re.search(r"^CPU Fallback Profiling: 1 runs, ", printed, re.M)
    nothing = python("import torch", PYTORCH_MPS_LOG_PROFILE_INFO="64").stderr
    assert nothing == "There are no CPU Fallbacks logged for profiling\n"
