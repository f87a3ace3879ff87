"""`anymps metal run`: a kernel is launched and what it wrote is shown."""

import json

import numpy as np
import pytest

SCALE = ("scale", "--constant", "twice=1")


@pytest.fixture
def library(metal, tmp_path):
    path = tmp_path / "small.metallib"
    path.write_bytes(metal.container({"scale": metal.bitcode(), "mirror": metal.bitcode("mirror")}))
    return path


@pytest.fixture
def run(call, library):
    return lambda *words: call("metal", "run", library, *words)


@pytest.fixture
def refusal(run):
    def refusal_of(*words):
        answer = run(*words)
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr.startswith("anymps: error: ") and answer.stderr.count("\n") == 1
        return answer.stderr.removeprefix("anymps: error: ").rstrip()

    return refusal_of


def test_what_a_kernel_wrote_is_shown(run):
    answer = run(*SCALE, "--threads", 6, "--arg", "iota:8", "--arg", "2.5")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.splitlines() == [
        "scale  6 x 1 x 1 threads in threadgroups of 6 x 1 x 1, thread loop",
        "  0 out: 8 x float",
        "    2.5 2.5 2.5 2.5 2.5 2.5 6 7",
    ]


def test_long_buffers_are_cut_unless_asked_for(run):
    words = (*SCALE, "--threads", 1, "--arg", "iota:40", "--arg", "0")
    assert run(*words).stdout.split()[-2:] == ["15", "..."]
    assert run(*words, "--out", 0).stdout.split()[-2:] == ["38", "39"]


def test_as_json(run):
    words = (*SCALE, "--threads", "2", "--group", "2", "--arg", "1,nan,inf", "--arg=-1", "--repeat", "3", "--json")
    answer = json.loads(run(*words).stdout)
    (out,) = answer["outputs"]
    assert out == {"binding": 0, "name": "out", "type": "float", "width": 1, "count": 3, "values": [-1, -1, "inf"]}
    assert (answer["kernel"], answer["threads"], answer["group"]) == ("scale", [2, 1, 1], [2, 1, 1])
    assert (answer["route"], answer["validated"], answer["reports"]) == ("thread loop", False, [])
    assert answer["launches"] == 3 and answer["median_ms"] > 0


def test_files_of_numpy(run, tmp_path):
    np.save(tmp_path / "in.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    answer = run(*SCALE, "--threads", 5, "--arg", "@in.npy", "--arg", "9", "--out", "0=out.npy")
    assert answer.stdout.splitlines()[1] == "  0 out: 12 x float -> out.npy"
    expected = np.array([9, 9, 9, 9, 9, 5, 6, 7, 8, 9, 10, 11], np.float32).reshape(3, 4)
    written = np.load(tmp_path / "out.npy")
    assert written.dtype == np.float32 and np.array_equal(written, expected)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "c8"])
def test_every_type_goes_through_a_file(run, tmp_path, dtype):
    names = {"?": "bool", "i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint"}
    names |= {"i8": "long", "u8": "ulong", "f2": "half", "f4": "float", "c8": "float2"}
    array = (np.arange(20) - 3).astype(dtype)
    np.save(tmp_path / "in.npy", array)
    run(*SCALE, "--threads", 1, "--arg", "zeros:1", "--arg", f"{names[dtype]}:@in.npy", "--out", "1=out.npy")
    written = np.load(tmp_path / "out.npy")
    assert np.array_equal(written if dtype != "c8" else written.view("c8").ravel(), array)


def test_files_of_bytes(run, tmp_path):
    (tmp_path / "in.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    run(*SCALE, "--threads", 2, "--arg", "@in.bin", "--arg", "7", "--out", "0=out.bin")
    assert (tmp_path / "out.bin").read_bytes() == np.array([7, 7, 2, 3], np.float32).tobytes()


def test_threadgroup_memory_is_given_its_length(run):
    words = ("mirror", "--threads", 4, "--group", 8, "--arg", "zeros:4", "--arg", 3, "--threadgroup-bytes", "0=16")
    answer = run(*words)
    assert answer.stdout.splitlines()[-1] == "    3 2 1 0"


def test_the_sanitiser(run):
    words = (*SCALE, "--threads", 8, "--arg", "zeros:7", "--arg", 1)
    assert run(*words, "--validate").returncode == 1
    assert "buffer 0, out: 4 bytes at byte offset 28 of 28" in run(*words, "--validate").stdout
    (report,) = json.loads(run(*words, "--validate", "--json").stdout)["reports"]
    assert (report["fault"], report["thread"], report["binding"]) == ("out of bounds", [7, 0, 0], 0)
    words = (*SCALE, "--threads", 8, "--arg", "zeros:8", "--arg", 1)
    assert run(*words, "--validate").returncode == 0


def test_random_numbers_follow_the_seed(run):
    words = (*SCALE, "--threads", 1, "--arg", "random:9", "--arg", 1)
    assert run(*words).stdout == run(*words, "--seed", 0).stdout != run(*words, "--seed", 1).stdout


def test_a_wrong_number_of_arguments_is_answered_with_the_list(refusal):
    listed = "0 device uint* out, 1 constant uint& last, 0 threadgroup uint* shared"
    assert refusal("mirror", "--threads", 1) == f"mirror takes 2 buffers, and 0 --arg are given: {listed}"


def test_what_was_wrong_is_named(refusal):
    both = ("--arg", "zeros:4", "--arg", "1")
    assert refusal(*SCALE, "--threads", "0", *both).startswith("--threads takes one to three numbers above 0")
    assert refusal(*SCALE, "--threads", "1,2,3,4", *both).startswith("--threads takes one to three numbers above 0")
    assert refusal(*SCALE, "--threads", 1, "--arg", "zeros:4", "--arg", "x") == (
        "argument 1 (float factor): `x` is no value of float"
    )
    assert refusal(*SCALE, "--threads", 1, "--arg", "zeros:4", "--arg", "half:1") == (
        "argument 1 (float factor) takes 4 bytes; half:1 has 2"
    )
    assert refusal(*SCALE, "--threads", 1, "--arg", "none", "--arg", "1") == (
        "scale: nothing is bound to argument 0 (float out)"
    )
    assert refusal("scale", "--threads", 1, *both) == (
        "scale: function constant 3 (bool twice) has no value: --constant twice=VALUE"
    )
    assert refusal(*SCALE, "--constant", "4=1", "--threads", 1, *both) == (
        "--constant 4: scale has the function constants 3 bool twice"
    )
    assert refusal(*SCALE, "--group", "512", "--threads", 512, *both).endswith("it takes 1 to 256")
    assert refusal(*SCALE, "--threads", 1, *both, "--out", 7) == "--out 7: no buffer is bound there"
    assert refusal("mirror", "--threads", 1, *both).endswith("has no length: --threadgroup-bytes 0=BYTES")
    assert "there is no function `scael`; the nearest is `scale`" in refusal("scael", "--threads", 1)


def test_a_crash_of_a_kernel_is_a_refusal(run):
    """Without the sanitiser an access far out of bounds ends the process; it is not this one."""
    answer = run(*SCALE, "--threads", 2000000000, "--arg", "zeros:1", "--arg", 1)
    assert answer.returncode == 2
    assert "refused: running it ended by SIG" in answer.stderr
