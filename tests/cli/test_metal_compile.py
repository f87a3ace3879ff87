"""Metal source in place of a library, and `anymps metal compile`."""

import json

import pytest

SCALE = """#include <metal_stdlib>
using namespace metal;
kernel void scale(device float* out [[buffer(0)]], constant float& factor [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) {
  out[i] *= factor;
}
"""

SUMS = """#include <metal_stdlib>
using namespace metal;
kernel void sums(device float* out, device const float* in, constant uint& n,
                 uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
                 uint size [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
  threadgroup float shared[1024];
  shared[l] = i < n ? in[i] : 0;
  BARRIER
  if (l == 0) {
    float sum = 0;
    for (uint k = 0; k < size; ++k) sum += shared[k];
    out[group] = sum;
  }
}
"""
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "k.metal"
    path.write_text(SCALE)
    return path


def test_a_library_is_written(call, source, tmp_path):
    answer = call("metal", "compile", "k.metal")
    assert (answer.returncode, answer.stderr) == (0, "")
    size = (tmp_path / "k.metallib").stat().st_size
    assert answer.stdout == f"k.metallib: 1 kernel, {size} bytes\n"
    (function,) = json.loads(call("metal", "list", "--json", "k.metallib").stdout)["functions"]
    assert (function["name"], function["type"]) == ("scale", "kernel")
    assert [argument["name"] for argument in function["arguments"]] == ["out", "factor", "i"]


def test_torch_loads_it(call, source, tmp_path):
    torch = pytest.importorskip("torch")
    call("metal", "compile", source, "-o", tmp_path / "other.metallib")
    library = torch.mps.load_metallib(str(tmp_path / "other.metallib"))
    x = torch.arange(4.0, device="mps")
    library.scale(x, 3.0)
    assert x.tolist() == [0, 3, 6, 9]


def test_source_is_launched(call, source):
    answer = call("metal", "run", source, "scale", "--threads", 4, "--arg", "iota:4", "--arg", 3)
    assert (answer.returncode, answer.stdout.splitlines()[-1]) == (0, "    0 3 6 9")


def test_source_is_listed_and_disassembled(call, source):
    assert "buffer 1 read constant 4 bytes factor: float" in " ".join(call("metal", "list", source).stdout.split())
    assert "define void @scale(" in call("metal", "disasm", source, "scale").stdout
    answer = call("metal", "disasm", source, "scael")
    assert "there is no function `scael`; the nearest is `scale`" in answer.stderr


def test_source_is_verified(call, source):
    found = json.loads(call("metal", "verify", "--json", source).stdout)
    assert (found["kernels"], found["thread_loops"], found["refusals"]) == (1, 1, {})


def test_what_the_compiler_says(call, source):
    source.write_text(SCALE.replace("out[i]", "uot[i]"))
    for words in (["compile"], ["list"], ["check"], ["verify"]):
        answer = call("metal", *words, "k.metal")
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr.startswith("k.metal:5:3: error: use of undeclared identifier 'uot'"), words
        assert "  uot[i] *= factor;\n" in answer.stderr


def test_files_beside_the_source_and_in_folders(call, source, tmp_path):
    (tmp_path / "beside.h").write_text("#define OUT out\n")
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "index.h").write_text("#define INDEX i\n")
    source.write_text('#include "beside.h"\n#include <index.h>\n' + SCALE.replace("out[i]", "OUT[INDEX + SHIFT]"))
    answer = call("metal", "compile", "k.metal", "-D", "SHIFT=1")
    assert answer.returncode == 2 and "'index.h' file not found" in answer.stderr
    words = ("-I", "include", "-D", "SHIFT=1")
    assert call("metal", "compile", "k.metal", *words).returncode == 0
    answer = call("metal", "run", "k.metal", "scale", *words, "--threads", 1, "--arg", "1,1", "--arg", 5)
    assert answer.stdout.splitlines()[-1] == "    1 5"


def test_a_limit_that_is_met_says_its_name(call, source):
    loops = "for (int n = 0; n < 40; ++n) for (int m = 0; m < 9; ++m) out[i] += sin(out[i] * n + m);\n"
    kernel = "kernel void k{}(device float* out, uint i [[thread_position_in_grid]]) {{ {} }}\n"
    many = "".join(kernel.format(n, loops) for n in range(3000))
    source.write_text("#include <metal_stdlib>\nusing namespace metal;\n" + many)
    answer = call("metal", "compile", "k.metal", ANYMPS_METAL_SECONDS="1")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "reading it took more than 1 s of processor time (ANYMPS_METAL_SECONDS sets the limit)" in answer.stderr


def test_a_library_is_not_compiled(call, metal, tmp_path):
    (tmp_path / "k.metallib").write_bytes(metal.container({}))
    answer = call("metal", "compile", "k.metallib")
    assert answer.returncode == 2 and "a file of Metal source ends in .metal" in answer.stderr


def test_a_kernel_that_is_made_for_smaller_threadgroups(call, source):
    """One warning that tells how to bound it, and none once it is bounded."""
    source.write_text(SUMS.replace("shared[1024]", "shared[256]").replace("BARRIER", BARRIER))
    answer = call("metal", "check", "k.metal")
    assert answer.returncode == 0 and "0 errors, 1 warning," in answer.stdout, answer.stdout
    assert "in a threadgroup of 1024 threads it goes beyond its threadgroup memory (shared), at " in answer.stdout
    assert "launched with a threadgroup of 1024 x 1 x 1 threads" in answer.stdout
    bound = "[[max_total_threads_per_threadgroup(256)]]"
    assert bound in answer.stdout
    source.write_text(source.read_text().replace("kernel void", f"{bound} kernel void"))
    assert "0 errors, 0 warnings," in call("metal", "check", "k.metal").stdout


def test_a_missing_barrier_in_source(call, source):
    source.write_text(SUMS.replace("BARRIER", BARRIER))
    answer = call("metal", "check", "k.metal")
    assert answer.returncode == 0, answer.stdout
    source.write_text(SUMS.replace("BARRIER", ""))
    answer = call("metal", "check", "k.metal")
    assert answer.returncode == 1
    assert "k.metal: sums: k.metal:11: error: missing barrier: shared in threadgroup memory" in answer.stdout
    assert "error: race: " in answer.stdout
