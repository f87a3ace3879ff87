"""ANYMPS_SANDBOX=1: kernels run in a process of their own, and what they do wrong ends nothing but that."""

import json

import pytest

SOURCE = """
#include <metal_stdlib>
using namespace metal;
kernel void wave(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] = sin(x[i]) * by; }
kernel void sums(device float* out, device const float* in, uint i [[thread_position_in_grid]],
                 uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  threadgroup float part[64];
  part[t] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint step = 32; step != 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0) out[g] = part[0];
}
kernel void count(device atomic_uint* n, device const int* in, uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&n[in[i] & 3], 1u, memory_order_relaxed);
}
kernel void astray(device float* x, constant long& by) { x[by] = 1; }
kernel void endless(device atomic_uint* x) { while (atomic_load_explicit(x, memory_order_relaxed) != 7) {} }
kernel void first(device float* out, device float* constant* from) { out[0] = from[0][0]; }
"""

BEGIN = f"import json, os, torch\nlib = torch.mps.compile_shader({SOURCE!r})\n"

RESULTS = (
    BEGIN
    + """
x = torch.arange(1000.0, device="mps")
lib.wave(x, 3.0)
y = torch.zeros(4, device="mps")
lib.sums(y, x, threads=256, group_size=64)
n = torch.zeros(4, dtype=torch.int32, device="mps")
lib.count(n, torch.arange(100_003, dtype=torch.int32, device="mps"), threads=100_003)
lib.wave(x[500:], 0.5, threads=500)
print(json.dumps([x.tolist(), y.tolist(), n.tolist()]))
"""
)

FAULTS = (
    BEGIN
    + """
def error(call):
    try:
        call()
        torch.mps.synchronize()
    except RuntimeError as error:
        return str(error).splitlines()[0]
x = torch.ones(4, device="mps")
n = torch.zeros(1, dtype=torch.int32, device="mps")
os.environ["ANYMPS_SANDBOX_SECONDS"] = "1"
print(json.dumps({
    "astray": error(lambda: lib.astray(x, 1 << 44, threads=1)),
    "endless": error(lambda: lib.endless(n, threads=1)),
    "first": error(lambda: lib.first(x, [x], threads=1)),
    "x": x.tolist(),
    "wave": error(lambda: lib.wave(x, 0.0)),
    "after": x.tolist(),
}))
"""
)


@pytest.fixture(autouse=True)
def _where_there_is_seccomp(python):
    with open("/proc/self/status") as status:
        if "Seccomp:" not in status.read():
            pytest.skip("this kernel has no seccomp")


def test_results_are_the_same(python):
    plain = json.loads(python(RESULTS).stdout)
    assert json.loads(python(RESULTS, ANYMPS_SANDBOX="1").stdout) == plain
    assert plain[2] == [25001, 25001, 25001, 25000]


def test_faults_are_errors_with_the_kernels_name(python):
    found = json.loads(python(FAULTS, ANYMPS_SANDBOX="1").stdout)
    assert "astray" in found["astray"]
    assert found["endless"] == (
        "kernel 'endless' ran for more than 1 s in the sandbox, and was ended (ANYMPS_SANDBOX_SECONDS sets the limit)"
    )
    assert "first: argument 1 (from) holds addresses of buffers" in found["first"]
    assert (found["x"], found["wave"], found["after"]) == ([1, 1, 1, 1], None, [0, 0, 0, 0])
