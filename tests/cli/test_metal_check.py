"""`anymps metal check`: what is wrong with kernels."""

import json

import pytest

BARRIER = "  call void @air.wg.barrier(i32 2, i32 1)\n"
IN_GROUP = "air.thread_position_in_threadgroup"


@pytest.fixture
def check(call, metal, tmp_path):
    """Writes kernels into a library and checks it."""

    def check_kernels(*words, **kernels):
        path = tmp_path / "k.metallib"
        path.write_bytes(metal.container(kernels))
        return call("metal", "check", path, *words)

    return check_kernels


@pytest.fixture
def findings(check):
    """Of one kernel, as pairs of a severity and a check."""

    def findings_of(**kernels):
        (file,) = json.loads(check("--json", **kernels).stdout)["files"]
        (kernel,) = file["kernels"]
        return {(finding["severity"], finding["check"]) for finding in kernel["findings"]}

    return findings_of


def test_nothing_is_wrong(check, metal):
    answer = check(fill=metal.bitcode("fill"))
    assert answer.returncode == 0
    assert answer.stdout.endswith("k.metallib: 1 kernel: 0 errors, 0 warnings, 0 refused, 0 not launched\n")
    assert answer.stdout.count("\n") == 1


def test_an_index_without_a_guard_is_a_warning(check, metal):
    answer = check(scale=metal.bitcode())
    assert answer.returncode == 0
    assert "k.metallib: scale: warning: unguarded index: out is written at thread_position_in_grid" in answer.stdout
    assert "0 errors, 1 warning," in answer.stdout


def test_a_guard_that_lets_one_too_many_pass(check, findings, metal):
    fill = metal.bitcode("fill", changes=("icmp ult", "icmp ule"))
    assert findings(fill=fill) == {("error", "out of bounds")}
    answer = check(fill=fill)
    assert answer.returncode == 1
    assert "k.metallib: fill: error: out of bounds: store by thread (69, 0, 0)" in answer.stdout
    assert "\n    buffer 0, out: 4 bytes at byte offset 276 of 276\n" in answer.stdout


def test_a_barrier_that_is_missing(check, findings, metal):
    assert not any(severity == "error" for severity, _ in findings(mirror=metal.bitcode("mirror", IN_GROUP)))
    mirror = metal.bitcode("mirror", IN_GROUP, (BARRIER, ""))
    assert ("error", "missing barrier") in findings(mirror=mirror)
    assert {"race"} <= {found for _, found in findings(mirror=mirror)}
    answer = check(mirror=mirror)
    assert answer.returncode == 1
    assert "error: missing barrier: shared in threadgroup memory is read where another thread writes" in answer.stdout


def test_what_only_some_shapes_show_is_a_warning(findings, metal):
    """A barrier that the threads beyond the last do not come to, in threadgroups that have such threads."""
    mirror = metal.bitcode("mirror", IN_GROUP, ("write:\n", "write:\n" + BARRIER))
    assert ("warning", "divergent barrier") in findings(mirror=mirror)


def test_races_in_the_devices_memory(findings, metal):
    """Every thread writes its number to one place."""
    store = (
        "store float 1.0, ptr addrspace(1) %to",
        "%x = uitofp i32 %index to float\n  store float %x, ptr addrspace(1) %out",
    )
    assert findings(fill=metal.bitcode("fill", changes=store)) == {("error", "race")}


def test_a_struct_cannot_be_made_up(check, metal):
    changes = (
        'i32 4, !"air.arg_type_name", !"uint", !"air.arg_name", !"count"',
        'i32 4, !"air.arg_type_name", !"Sizes", !"air.arg_name", !"count"',
    )
    answer = check(fill=metal.bitcode("fill", changes=changes))
    assert answer.returncode == 0
    assert "fill: not launched: count is a struct (Sizes), whose members the library does not describe" in answer.stdout


def test_the_members_of_a_struct_are_made_up(call, tmp_path):
    """Whole numbers are counts, also in arrays and structs within."""
    (tmp_path / "k.metal").write_text("""#include <metal_stdlib>
struct Inner { metal::array<int, 2> counts; };
struct Sizes { float scale; long count; Inner inner[2]; };
kernel void k(device int* out, constant Sizes& sizes, uint i [[thread_position_in_grid]]) {
  if (i >= sizes.count) return;
  out[i] = sizes.inner[1].counts[1] == sizes.count && sizes.scale >= -1 && sizes.scale < 1 ? 1 : 7;
  if (sizes.inner[1].counts[1] != sizes.count) out[1 << 28] = 1;
}
""")
    answer = json.loads(call("metal", "check", "--json", "k.metal").stdout)
    (kernel,) = answer["files"][0]["kernels"]
    assert kernel["not_tried"] is None and kernel["launches"] >= 3
    assert kernel["findings"] == []


@pytest.mark.parametrize("constant, severity", [("", "error"), ("constant int n [[function_constant(0)]];", "warning")])
def test_a_function_constant_may_say_who_writes(call, tmp_path, constant, severity):
    """A barrier with mem_none orders no memory."""
    (tmp_path / "k.metal").write_text(f"""using namespace metal;
{constant}
kernel void k(device int* out, uint i [[thread_index_in_threadgroup]]) {{
  threadgroup int tile[1025];
  tile[i] = out[i] {"+ n" if constant else ""};
  threadgroup_barrier(mem_flags::mem_none);
  out[i] = tile[i + 1];
}}
""")
    answer = json.loads(call("metal", "check", "--json", "k.metal").stdout)
    found = [f for f in answer["files"][0]["kernels"][0]["findings"] if f["check"] == "missing barrier"]
    assert [f["severity"] for f in found] == [severity]
    assert found[0]["text"].endswith("with no barrier for threadgroup memory between")


def test_what_is_refused_gives_2(call, check, metal, tmp_path):
    answer = check(fill=metal.bitcode("fill"), broken=b"no bitcode")
    assert answer.returncode == 2
    assert "broken: refused: broken: its bitcode cannot be read" in answer.stdout
    (tmp_path / "none.metallib").write_bytes(b"MTLB")
    answer = call("metal", "check", "none.metallib", "k.metallib")
    assert answer.returncode == 2
    assert "none.metallib: offset 4" in answer.stderr and "2 kernels" in answer.stdout


def test_as_json(check, metal):
    answer = json.loads(check("--json", fill=metal.bitcode("fill"), scale=metal.bitcode()).stdout)
    assert answer["version"] == 1
    (file,) = answer["files"]
    assert (file["errors"], file["warnings"], file["refusals"], file["not_tried"]) == (0, 1, 0, 0)
    fill, scale = file["kernels"]
    assert (fill["name"], fill["findings"], fill["not_tried"]) == ("fill", [], None)
    assert fill["launches"] >= 3
    (finding,) = scale["findings"]
    assert (finding["check"], finding["severity"], finding["subject"]) == ("unguarded index", "warning", "out")
    assert finding["place"] == ""
