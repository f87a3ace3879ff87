"""`anymps metal`, on libraries made here and, where there are some, on genuine ones."""

import json
import shutil
import subprocess

import pytest
import slices


@pytest.fixture
def library(metal, tmp_path):
    path = tmp_path / "small.metallib"
    path.write_bytes(metal.container({"scale": metal.bitcode()}))
    return path


def test_list_shows_what_a_kernel_asks_for(call, library):
    answer = call("metal", "list", library)
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in answer.stdout.splitlines()]
    assert lines == [
        "scale kernel, Metal 3.1, AIR 2.6",
        "buffer 0 read_write device 4 bytes each out: float",
        "buffer 1 read constant 4 bytes factor: float",
        "thread_position_in_grid index: uint",
        "256 bytes of threadgroup memory",
        "at most 256 threads in a threadgroup",
        "function constant 3 twice: bool",
    ]


def test_list_as_json(call, library):
    answer = json.loads(call("metal", "list", "--json", library).stdout)
    assert answer["version"] == 1
    (function,) = answer["functions"]
    out, factor, index = function["arguments"]
    assert (out["binding"], out["access"], out["address_space"], out["size"]) == (0, "read_write", 1, 4)
    assert (factor["binding"], factor["buffer_size"], factor["access"]) == (1, 4, "read")
    assert index == {"kind": "thread_position_in_grid", "name": "index", "type": "uint", "unused": False}
    assert function["function_constants"] == [{"id": 3, "name": "twice", "required": True, "type": "bool"}]
    assert (function["threadgroup_bytes"], function["max_total_threads"]) == (256, 256)
    assert function["denorms_disabled"] and not function["fast_math_disabled"]


def test_list_of_some(call, metal, tmp_path):
    path = tmp_path / "two.metallib"
    path.write_bytes(metal.container({"scale": metal.bitcode(), "broken": b"no bitcode"}))
    answer = call("metal", "list", path, "scale")
    assert answer.returncode == 0 and answer.stdout.startswith("scale ") and "broken" not in answer.stdout


def test_one_function_that_cannot_be_read_does_not_hide_the_others(call, metal, tmp_path):
    path = tmp_path / "two.metallib"
    path.write_bytes(metal.container({"broken": b"no bitcode", "scale": metal.bitcode()}))
    answer = call("metal", "list", path)
    assert answer.returncode == 2
    assert "refused: broken: its bitcode cannot be read" in answer.stdout
    assert "out: float" in answer.stdout
    assert answer.stderr == "anymps: error: 1 of 2 functions are refused\n"


def test_what_is_not_known_is_refused_by_name(call, metal, tmp_path):
    path = tmp_path / "unknown.metallib"
    path.write_bytes(metal.container({"scale": metal.bitcode(position="air.amplification_id")}))
    answer = call("metal", "list", path)
    assert answer.returncode == 2
    assert "scale: !air.kernel, arguments, argument 2" in answer.stdout and "`air.amplification_id`" in answer.stdout


def test_other_functions_are_listed_by_their_type(call, metal, tmp_path):
    path = tmp_path / "fragment.metallib"
    path.write_bytes(metal.container({"shade": b""}, kind=1))
    answer = call("metal", "list", path)
    assert (answer.returncode, answer.stdout) == (0, "shade  fragment, Metal 3.1, AIR 2.6\n")


def test_disasm_prints_ir(call, library):
    answer = call("metal", "disasm", library, "scale")
    assert answer.returncode == 0
    assert "define void @scale(ptr addrspace(1) %out" in answer.stdout
    assert "!air.kernel = !{!0}" in answer.stdout


def test_a_mistyped_kernel_is_answered_with_the_nearest(call, library):
    answer = call("metal", "disasm", library, "scael")
    assert answer.returncode == 2
    assert "there is no function `scael`; the nearest is `scale`" in answer.stderr


@pytest.mark.parametrize("size", [0, 3, 87, 88, 200])
def test_a_cut_library_is_refused_in_one_line(call, library, size):
    library.write_bytes(library.read_bytes()[:size])
    answer = call("metal", "list", library)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"anymps: error: {library}: offset ") and answer.stderr.count("\n") == 1


def test_no_file_is_refused(call, tmp_path):
    for path in (tmp_path, tmp_path / "none.metallib"):
        answer = call("metal", "list", path)
        assert answer.returncode == 2 and answer.stderr.count("\n") == 1


def test_every_damaged_module_ends_in_an_answer_or_a_refusal(call, metal, library):
    """LLVM's reader may crash on these; `anymps` may not."""
    whole = metal.bitcode()
    for at in range(40, len(whole), len(whole) // 25):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        library.write_bytes(metal.container({"scale": bytes(damaged)}))
        answer = call("metal", "list", library)
        assert answer.returncode in (0, 2), answer.stderr


@pytest.mark.parametrize(
    ("body", "ending"),
    [("raise(SIGSEGV);", "by SIGSEGV"), ("_exit(1);", "with status 1"), ("grow();", "by SIGABRT")],
)
def test_a_crash_of_the_reader_is_a_refusal(anymps, library, tmp_path, body, ending):
    """A libanymps_metal.so that crashes, or takes 16 GiB, stands in for what bitcode can do to LLVM."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    source = tmp_path / "crash.cpp"
    source.write_text(
        f"""#include <signal.h>
            #include <stdlib.h>
            #include <unistd.h>
            void grow() {{ for (int i = 0; i < 64; ++i) if (malloc(1 << 28) == nullptr) abort(); }}
            extern "C" int anymps_metal_tool() {{ {body} return 0; }}"""
    )
    beside = tmp_path / "bin"
    beside.mkdir()
    executable = shutil.copy(anymps, beside / "anymps")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", beside / "libanymps_metal.so"], check=True)
    answer = subprocess.run([executable, "metal", "list", library], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(f"anymps: error: {library}: refused: reading it ended {ending}")
    assert answer.stderr.count("\n") == 1


def test_validation_from_python(anymps, metal, library, monkeypatch):
    import anymps as package

    monkeypatch.setenv("ANYMPS_EXECUTABLE", anymps)
    package.validate_metallib(library)
    package.validate_metallib(library.read_bytes())
    with pytest.raises(ValueError, match="offset 16: the library says that it has"):
        package.validate_metallib(library.read_bytes()[:-1])
    with pytest.raises(ValueError, match="1 of 1 functions are refused"):
        package.validate_metallib(metal.container({"scale": b"no bitcode"}))


@pytest.mark.sliced
def test_genuine_libraries_are_read(call, genuine_libraries):
    assert len(genuine_libraries) == 2
    for file in genuine_libraries if slices.whole() else genuine_libraries[:1]:
        functions = json.loads(call("metal", "list", "--json", file).stdout)["functions"]
        assert len(functions) == 12998
        assert not [function for function in functions if "error" in function]


def test_a_slice_of_the_genuine_kernels_compiles(call, genuine_libraries):
    """All of them: tests/genuine/verify_all.py, which `make test-full` runs. The two libraries are of one source."""
    for file, usual in zip(genuine_libraries, ("1/120", "61/120"), strict=True):
        share = slices.chosen(usual)
        counted = len(slices.part_of(range(12998), share))
        found = json.loads(call("metal", "verify", "--sample", share, "--json", file, timeout=1200).stdout)
        assert found["refusals"] == {}
        assert found["kernels"] == counted
        assert found["thread_loops"] > found["coroutines"] > counted / 7


def test_slices_of_a_library_are_all_of_it(call, metal, tmp_path):
    file = tmp_path / "five.metallib"
    file.write_bytes(metal.container({f"scale{i}": metal.bitcode() for i in range(5)}))
    shares = [call("metal", "verify", "--json", "--sample", f"{k}/3", file) for k in (1, 2, 3)]
    assert [json.loads(answer.stdout)["kernels"] for answer in shares] == [2, 2, 1]


def test_verify_says_by_which_route(call, library):
    answer = call("metal", "verify", library)
    assert answer.returncode == 0, answer.stderr
    assert [line.split() for line in answer.stdout.splitlines()[:4]] == [
        ["kernels", "1"],
        ["thread", "loop", "1"],
        ["coroutines", "0"],
        ["refused", "0"],
    ]


def test_verify_says_what_runs_many_lanes_at_once(call, library):
    answer = call("metal", "verify", "--simd", library)
    assert answer.returncode == 0, answer.stderr
    lines = [line.split() for line in answer.stdout.splitlines()]
    assert lines[4][:3] == ["many", "lanes", "1,"]
    assert lines[5] == ["declined", "0"]
    found = json.loads(call("metal", "verify", "--simd", "--json", library).stdout)["simd"]
    assert (found["kernels"], found["declined"]) == (1, {})
    assert found["median_compile_ratio"] > 0


@pytest.mark.sliced
def test_most_genuine_kernels_run_many_lanes_at_once(call, genuine_libraries):
    for file in genuine_libraries[:1]:
        found = json.loads(call("metal", "verify", "--simd", "--sample", "1/700", "--json", file, timeout=600).stdout)
        assert found["simd"]["kernels"] >= 0.97 * found["kernels"], found["simd"]["declined"]


def test_verify_names_what_it_refuses(call, metal, tmp_path):
    path = tmp_path / "two.metallib"
    other = metal.bitcode(position="air.amplification_id")
    path.write_bytes(metal.container({"scale": metal.bitcode(), "other": other}))
    answer = call("metal", "verify", "--json", path)
    assert answer.returncode == 2
    found = json.loads(answer.stdout)
    assert (found["kernels"], found["thread_loops"]) == (2, 1)
    ((reason, names),) = found["refusals"].items()
    assert names == ["other"]
    assert reason


def test_a_sample_that_is_none_is_refused(call, library):
    answer = call("metal", "verify", "--sample", "some", library)
    assert answer.returncode == 2
    assert "--sample takes a share such as 1/10, not some" in answer.stderr
