"""What Inductor offers for looking inside and for starting sooner is there for the device too."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import torch
from torch._dynamo.utils import counters

x = torch.arange(6.0, device="mps")
print(torch.compile(lambda x: (x * 2 + 1).sin())(x).sum().item())
print(counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"])
"""


def run(folder, **environment: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "PYTHONWARNINGS": "ignore", **environment}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, cwd=folder, capture_output=True, text=True, timeout=300, check=True
    )


def test_the_code_that_it_writes_can_be_read(tmp_path):
    shown = run(tmp_path, TORCH_LOGS="output_code").stderr
    assert "kernel void generated_kernel_0(" in shown and "generated_kernel_0(buf0, arg0_1, threads=[6])" in shown
    run(tmp_path, TORCH_COMPILE_DEBUG="1", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    (code,) = tmp_path.glob("torch_compile_debug/*/torchinductor/*/output_code.py")
    assert "async_compile.metal" in code.read_text()


def test_a_second_process_takes_the_graph_from_the_cache(tmp_path):
    first, second = run(tmp_path).stdout.split(), run(tmp_path).stdout.split()
    assert first[1:] == ["0", "1"]
    assert second[1:] == ["1", "0"]
    assert first[0] == second[0]
