"""Metal's standard library is precompiled when anymps is built: a first kernel does not wait for it."""

import os
import subprocess
import sys

SCRIPT = """
import torch
library = torch.mps.compile_shader(
    "kernel void k(device float* x, uint i [[thread_position_in_grid]]) { x[i] = metal::exp(x[i]); }"
)
x = torch.zeros(4, device="mps")
library.k(x)
print(x.tolist())
"""
PRECOMPILED_BYTES = 1 << 20  # far less than the headers take, far more than a kernel


def test_a_first_kernel_leaves_no_headers_in_the_cache(tmp_path):
    env = {**os.environ, "ANYMPS_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1.0, 1.0, 1.0, 1.0]"
    sizes = [path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert sizes and max(sizes) < PRECOMPILED_BYTES
