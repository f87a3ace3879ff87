"""`anymps replay`: captured launches run again, and what they leave is compared."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import torch
lib = torch.mps.compile_shader('''
#include <metal_stdlib>
kernel void wave(device float* x, constant float& by, uint i [[thread_position_in_grid]]) {
  x[i] = metal::sin(x[i]) * by;
}
kernel void add(device float* out, device float* constant* from, uint i [[thread_position_in_grid]]) {
  out[i] = from[0][i] + from[1][i];
}
kernel void shift(device float* x, uint i [[thread_position_in_grid]]) { x[i + 1] = float(i); }
kernel void astray(device float* constant& x, uint i [[thread_position_in_grid]]) { x[long(1) << 44] = 1; }
''')
x = torch.arange(64.0, device="mps")
with torch.mps.profiler.metal_capture("step"):
    lib.wave(x, 2.0)
    lib.wave(x[32:], 0.5, threads=32)
    lib.add(torch.empty(16, device="mps"), [x[:16], x[16:]])
    # One element too far, which is between this block and the next one: no other's memory.
    lib.shift(torch.zeros(60, device="mps"))
    x.exp()
    if %r:
        lib.astray([x], threads=1)
"""


@pytest.fixture
def capture(environment, tmp_path):
    def make(with_crash=False):
        finished = subprocess.run(
            [sys.executable, "-c", PROGRAM % with_crash],
            cwd=tmp_path,
            env=environment | {"MTL_CAPTURE_ENABLED": "1"},
            capture_output=True,
            text=True,
        )
        assert (finished.returncode == 0) == (not with_crash), finished.stderr
        return tmp_path / "0000-step.gputrace"

    return make


def outcomes(answer):
    return [launch.get("outcome", "refused") for launch in json.loads(answer.stdout)["launches"]]


def change(file, before, after):
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_a_capture_replays_to_the_bit(call, capture):
    answer = call("replay", capture())
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = answer.stdout.splitlines()
    assert lines[0].startswith("    0  wave  64x1x1 threads in groups of 64x1x1: equal")
    assert lines[-1].endswith("4 launches: 4 equal, 0 close, 0 differ, 0 not compared, 0 refused")


def test_another_engine_agrees(call, capture):
    answer = call("replay", capture(), "--json", "--tolerance", "1e-6", ANYMPS_METAL_ENGINE="interpreter")
    assert answer.returncode == 0, answer.stdout
    assert set(outcomes(answer)) <= {"equal", "close"}


def test_one_launch_or_kernel(call, capture):
    folder = capture()
    chosen = json.loads(call("replay", folder, "--json", "--launch", 2, "--launch", 0).stdout)
    assert [launch["launch"] for launch in chosen["launches"]] == [0, 2]
    chosen = json.loads(call("replay", folder, "--json", "--kernel", "wave").stdout)
    assert [launch["launch"] for launch in chosen["launches"]] == [0, 1]
    answer = call("replay", folder, "--kernel", "wav")
    assert answer.returncode == 2 and "no launch of it is of a kernel `wav`" in answer.stderr
    answer = call("replay", folder, "--launch", 4)
    assert answer.returncode == 2 and "there is no launch 4; it has 4, counted from 0" in answer.stderr


def test_changed_source_shows_what_becomes_other(call, capture):
    folder = capture()
    (source,) = (folder / "kernels").glob("*.metal")
    change(source, "from[0][i] + from[1][i]", "from[0][i] + from[1][i] + (i == 3 ? 1 : 0)")
    answer = call("replay", folder, "--source")
    assert answer.returncode == 1
    assert "out: 1 of 16 float differ, by " in answer.stdout and "the first at 3: was " in answer.stdout
    assert call("replay", folder).returncode == 0
    change(source, "kernel void shift", "kernel vod shift")
    answer = call("replay", folder, "--source", "--json", "--launch", 0)
    assert answer.returncode == 2
    assert "unknown type name 'vod'" in json.loads(answer.stdout)["launches"][0]["refusal"]


def test_floats_may_be_close(call, capture):
    folder = capture()
    (source,) = (folder / "kernels").glob("*.metal")
    change(source, "metal::sin(x[i]) * by", "metal::sin(x[i]) * by * 1.0000002f")
    assert outcomes(call("replay", folder, "--source", "--json", "--launch", 0)) == ["differs"]
    answer = call("replay", folder, "--source", "--json", "--launch", 0, "--tolerance", "1e-6")
    assert (answer.returncode, outcomes(answer)) == (0, ["close"])


def test_the_sanitiser_watches(call, capture):
    answer = call("replay", capture(), "--validate", "--kernel", "shift")
    assert answer.returncode == 1
    assert "kernel shift: out of bounds" in answer.stdout


def test_list(call, capture):
    folder = capture()
    answer = call("replay", folder, "--list")
    assert answer.returncode == 0
    assert "4 launches" in answer.stdout and "1 x aten::exp" in answer.stdout
    assert json.loads(call("replay", folder, "--list", "--json").stdout)["torch"].startswith("2.")


def test_a_kernel_that_took_the_process_with_it_is_there(call, capture):
    folder = capture(with_crash=True)
    assert "did not end" in call("replay", folder, "--list").stdout
    answer = call("replay", folder)
    assert answer.returncode == 2
    assert "    4  astray" in answer.stdout and "refused" in answer.stdout.splitlines()[4]
    assert "4 equal" in answer.stdout
    answer = call("replay", folder, "--launch", 4, "--validate")
    assert answer.returncode in (1, 2)


def test_bytes_that_were_changed_are_refused(call, capture):
    folder = capture()
    for file in (folder / "buffers").iterdir():
        content = bytearray(file.read_bytes())
        content[0] ^= 1
        file.write_bytes(content)
    answer = call("replay", folder, "--launch", 0)
    assert answer.returncode == 2
    assert "its bytes are not those that were captured" in answer.stdout


def test_what_is_no_capture(call, tmp_path):
    answer = call("replay", tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == f"anymps: error: {tmp_path}/launches.jsonl: cannot be read; is {tmp_path} a capture?\n"
