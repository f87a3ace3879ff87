"""What it costs to compile small Metal kernels, with `clang++-19 -O2 -c` on the same kernels as C++ beside it.

    python bench/metal_compile.py                 1,000 kernels, all different, one after the other
    python bench/metal_compile.py --kernels 100   fewer
    python bench/metal_compile.py --threads 2     as a suite on two cores would

A kernel counts from its source to the end of its first launch over 32 threads: torch.mps.compile_shader, the kernel's
own code, the launch. Cold is an empty cache, the compilation of the standard library included; warm is another process
with the cache that the first one left. Clang is a process a kernel, as a build would start it. All in one run: cold,
clang and warm take turns in blocks of 50 kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import stats

BLOCK = 50
TARGET_COLD_MS = 20.0
TARGET_WARM = 0.1  # of the cold time

EXPRESSIONS = (
    "x * {a}f + {b}f",
    "exp(x * {a}f) - {b}f",
    "x > {a}f ? x : {b}f * x",
    "sqrt(fabs(x) + {a}f) * {b}f",
    "sin(x) * {a}f + cos(x) * {b}f",
    "fmin(fmax(x, -{a}f), {b}f)",
    "x / (1.0f + exp(-x * {a}f)) + {b}f",
    "floor(x * {a}f) - {b}f",
)


def kernel(number: int) -> tuple[str, str]:
    """(Metal source, the same as C++); the kernel's name is k."""
    rng = random.Random(number)
    text = EXPRESSIONS[number % len(EXPRESSIONS)].format(a=rng.randint(1, 10**6) / 1000, b=rng.randint(1, 10**6) / 1000)
    metal = f"""#include <metal_stdlib>
using namespace metal;
kernel void k(device float* out, device const float* in, constant uint& n, uint i [[thread_position_in_grid]]) {{
  if (i >= n) return;
  float x = in[i];
  out[i] = {text};
}}
"""
    cpp = f"""#include <cmath>
using namespace std;
extern "C" void k(float* out, const float* in, const unsigned& n, unsigned i) {{
  if (i >= n) return;
  float x = in[i];
  out[i] = {text};
}}
"""
    return metal, cpp


def compile_ours(first: int, count: int) -> list[float]:
    """Seconds for each kernel; in this process."""
    import torch

    source = torch.ones(32, device="mps")
    out = torch.zeros(32, device="mps")
    times = []
    for number in range(first, first + count):
        began = time.perf_counter()
        library = torch.mps.compile_shader(kernel(number)[0])
        library.k(out, source, 32)
        times.append(time.perf_counter() - began)
    return times


def compile_with_clang(first: int, count: int, folder: str) -> list[float]:
    times = []
    for number in range(first, first + count):
        path = os.path.join(folder, f"{number}.cpp")
        with open(path, "w") as file:
            file.write(kernel(number)[1])
        began = time.perf_counter()
        subprocess.run(["clang++-19", "-O2", "-c", path, "-o", os.path.join(folder, "out.o")], check=True)
        times.append(time.perf_counter() - began)
    return times


def in_process(first: int, count: int, cache: str) -> list[float]:
    env = {**os.environ, "ANYMPS_CACHE": cache}
    command = [sys.executable, __file__, "--worker", str(first), str(count)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def report(name: str, seconds: list[float]) -> None:
    milliseconds = [1e3 * s for s in seconds]
    print(
        f"  {name:<18} mean {statistics.fmean(milliseconds):7.2f} ms, median {statistics.median(milliseconds):7.2f} ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1, help="blocks that are compiled side by side")
    parser.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(compile_ours(*options.worker)))
        return 0

    times: dict[str, list[float]] = {"cold": [], "warm": [], "clang": []}
    blocks = range(0, options.kernels, BLOCK)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.threads) as pool:
        cache = os.path.join(folder, "cache")

        def block(first: int) -> dict[str, list[float]]:
            count = min(BLOCK, options.kernels - first)
            own = os.path.join(folder, str(first))
            os.mkdir(own)
            return {
                "cold": in_process(first, count, cache),
                "clang": compile_with_clang(first, count, own),
                "warm": in_process(first, count, cache),
            }

        for number, measured in enumerate(pool.map(block, blocks)):
            for side, seconds in measured.items():
                times[side] += seconds
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {len(blocks)} blocks", end="", file=sys.stderr)
    print(f"\r{options.kernels} kernels in {time.perf_counter() - began:.0f} s, {options.threads} at a time")
    report("cold", times["cold"])
    report("warm", times["warm"])
    report("clang++-19 -O2 -c", times["clang"])
    cold = 1e3 * statistics.fmean(times["cold"])
    beside = stats.paired_ratio(times["cold"], times["clang"])
    share = stats.paired_ratio(times["warm"], times["cold"])
    verdict = "met" if cold <= TARGET_COLD_MS else "missed"
    print(f"  cold: {cold:.2f} ms a kernel (target: at most {TARGET_COLD_MS}: {verdict})")
    print(f"  cold over clang's: {beside.median:.3f} [{beside.low:.3f}, {beside.high:.3f}]")
    print(
        f"  warm over cold: {share.median:.3f} [{share.low:.3f}, {share.high:.3f}] "
        f"(target: at most {TARGET_WARM}: {stats.verdict(share, TARGET_WARM)})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
