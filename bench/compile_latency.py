"""How long one small Metal kernel takes from its source until it can be launched, against `clang++-19 -O2 -c` of the
same kernel as C++, in one run.

    python bench/compile_latency.py               10 rounds
    python bench/compile_latency.py --rounds 40   narrower intervals

A round is, for each kernel: a process with an empty cache (cold), clang, and a process with the cache that the first
one left (disk). A process has imported torch and used the device before its clock starts; it compiles two kernels that
differ by a constant: the first of a process also opens LLVM, the next does not. The clock counts processor time, since
all of this is one thread's work and the machine may be shared.

plain     nothing but Metal's own headers; its C++ includes <cmath>
inductor  a row's softmax as Inductor writes it, with PyTorch's headers (c10/metal/), which compile_shader puts into the
          source; its C++ includes what Inductor's C++ does, cpp_prefix.h, with an omp.h that declares what that asks
          for, because Clang's own is not always there
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import stats

TARGET_COLD, TARGET_DISK = 2.0, 0.05  # of clang's time

PLAIN_METAL = """#include <metal_stdlib>
using namespace metal;
kernel void k(device float* out, device const float* in, constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i >= n) return;
  float x = in[i];
  out[i] = exp(x * CONSTANTf) - 2.0f;
}
"""
PLAIN_CPP = """#include <cmath>
extern "C" void k(float* out, const float* in, unsigned n) {
  for (unsigned i = 0; i < n; ++i) {
    float x = in[i];
    out[i] = std::exp(x * CONSTANTf) - 2.0f;
  }
}
"""
INDUCTOR_METAL = """#include <c10/metal/reduction_utils.h>
#include <c10/metal/utils.h>
[[max_total_threads_per_threadgroup(1000)]]
kernel void k(device float* out_ptr2, constant float* in_ptr0, uint2 thread_pos [[thread_position_in_grid]],
              uint2 group_pos [[thread_position_in_threadgroup]]) {
  auto xindex = thread_pos.x;
  auto r0_index = thread_pos.y;
  int r0_1 = r0_index;
  int x0 = xindex;
  threadgroup float tmp_acc_0[32];
  threadgroup float tmp_acc_1[32];
  auto tmp0 = in_ptr0[r0_1 + 1000*x0];
  auto tmp1 = tmp0 * CONSTANTf;
  auto tmp2 = c10::metal::threadgroup_max(tmp_acc_0, static_cast<float>(tmp1), r0_index * 1, 1000);
  auto tmp3 = tmp1 - tmp2;
  auto tmp4 = metal::precise::exp(tmp3);
  auto tmp5 = c10::metal::threadgroup_sum(tmp_acc_1, tmp4, r0_index * 1, 1000);
  out_ptr2[r0_1 + 1000*x0] = static_cast<float>(tmp4 / tmp5);
}
"""
INDUCTOR_CPP = """#include <torch/csrc/inductor/cpp_prefix.h>
extern "C" void k(const float* in, float* out) {
  float most = -std::numeric_limits<float>::infinity(), sum = 0;
  for (int i = 0; i < 1000; ++i) most = std::max(most, in[i] * CONSTANTf);
  for (int i = 0; i < 1000; ++i) sum += out[i] = std::exp(in[i] * CONSTANTf - most);
  for (int i = 0; i < 1000; ++i) out[i] /= sum;
}
"""
OMP_H = "".join(f'extern "C" int omp_get_{what}();\n' for what in ("thread_num", "num_threads", "max_threads"))
KERNELS = {"plain": (PLAIN_METAL, PLAIN_CPP), "inductor": (INDUCTOR_METAL, INDUCTOR_CPP)}


def with_constant(text: str, number: int) -> str:
    return text.replace("CONSTANT", f"{1 + number / 1024}")


def compile_two(kernel: str) -> list[float]:
    """Seconds for the first and the next kernel; in this process."""
    import torch

    torch.zeros(1, device="mps")
    times = []
    for number in (1, 2):
        source = with_constant(KERNELS[kernel][0], number)
        began = time.process_time()
        library = torch.mps.compile_shader(source)
        getattr(library, "k")  # noqa: B009 - this makes it ready
        times.append(time.process_time() - began)
    return times


def in_process(kernel: str, cache: str) -> list[float]:
    command = [sys.executable, __file__, "--worker", kernel]
    env = {**os.environ, "ANYMPS_CACHE": cache}
    return json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)


def include_folders() -> list[str]:
    from torch.utils.cpp_extension import include_paths

    return [f"-I{path}" for path in include_paths()]


def clang(kernel: str, folder: str, flags: list[str]) -> float:
    path = os.path.join(folder, "kernel.cpp")
    for name, text in ((path, with_constant(KERNELS[kernel][1], 1)), (os.path.join(folder, "omp.h"), OMP_H)):
        with open(name, "w") as file:
            file.write(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["clang++-19", "-O2", "-std=c++20", "-w", *flags, "-isystem", folder, "-c", path]
    subprocess.run([*command, "-o", os.path.join(folder, "kernel.o")], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one_round(kernel: str, flags: list[str], rng: random.Random) -> dict[str, float]:
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:

        def ours() -> None:
            for side in ("cold", "disk"):
                times[f"{side}, first"], times[f"{side}, next"] = in_process(kernel, os.path.join(folder, "cache"))

        def theirs() -> None:
            times["clang"] = clang(kernel, folder, flags)

        for side in rng.sample((ours, theirs), 2):
            side()
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    parser.add_argument("--only", choices=KERNELS, help="this kernel alone")
    parser.add_argument("--worker", choices=KERNELS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(compile_two(options.worker)))
        return 0

    rng = random.Random(0)
    print(f"{'':24} {'ms':>8}  {'over clang [95% interval]':28} target")
    for kernel in [options.only] if options.only else KERNELS:
        flags = include_folders() if kernel == "inductor" else []
        rounds = [one_round(kernel, flags, rng) for _ in range(options.rounds)]
        times = {side: [r[side] for r in rounds] for side in rounds[0]}
        print(f"{f'{kernel}: clang':24} {1e3 * statistics.median(times['clang']):8.1f}")
        for side in sorted(times.keys() - {"clang"}):
            ratio = stats.paired_ratio(times[side], times["clang"])
            target = TARGET_DISK if side.startswith("disk") else TARGET_COLD
            print(
                f"{f'{kernel}: {side}':24} {1e3 * statistics.median(times[side]):8.1f}  "
                f"{f'{ratio.median:.4f} [{ratio.low:.4f}, {ratio.high:.4f}]':28} "
                f"at most {target:g}: {stats.verdict(ratio, target)}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
