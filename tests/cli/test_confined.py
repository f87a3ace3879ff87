"""What `anymps metal` and `anymps replay` run is confined."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time

import pytest

ENDLESS = """
#include <metal_stdlib>
kernel void endless(device metal::atomic_uint* x) {
  while (metal::atomic_load_explicit(x, metal::memory_order_relaxed) != 7) {}
}
"""
ADD = "kernel void add(device float* o, uint i [[thread_position_in_grid]]) { o[i] += 1; }"


def status_of(process: int) -> dict[str, str]:
    lines = pathlib.Path(f"/proc/{process}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def children_of(process: int) -> list[int]:
    return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def seconds_of(process: int) -> float:
    """Of processor time."""
    ticks = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11]
    return int(ticks) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def running(anymps, environment, tmp_path):
    """What the child that runs an endless kernel looks like."""
    (tmp_path / "endless.metal").write_text(ENDLESS)

    def look(**variables) -> dict[str, str]:
        command = [anymps, "metal", "run", "endless.metal", "endless", "--threads", "1", "--arg", "uint:0"]
        with subprocess.Popen(command, cwd=tmp_path, env=environment | variables, stderr=subprocess.DEVNULL) as process:
            try:
                # The library is found by another child; the one that is meant uses up time.
                while process.poll() is None:
                    time.sleep(0.05)
                    for child in children_of(process.pid):
                        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                            if seconds_of(child) > 0.5:
                                return status_of(child)
                raise AssertionError("it ended")
            finally:
                for child in children_of(process.pid):
                    os.kill(child, signal.SIGKILL)

    return look


def test_the_child_is_confined(running):
    seen = running()
    assert (seen["Seccomp"], seen["NoNewPrivs"]) == ("2", "1")


def test_unless_it_is_told_not_to_be(running):
    seen, own = running(ANYMPS_SANDBOX="0"), status_of("self")
    assert (seen["Seccomp"], seen["NoNewPrivs"]) == (own["Seccomp"], own["NoNewPrivs"])


def test_nothing_is_written(call, environment, tmp_path):
    """The cache would be: whoever runs what others wrote keeps nothing of it."""
    (tmp_path / "add.metal").write_text(ADD)
    cache = pathlib.Path(environment["ANYMPS_CACHE"])
    for words in (["run", "add.metal", "add", "--threads", 4, "--arg", "iota:4"], ["check", "add.metal"]):
        answer = call("metal", *words)
        assert (answer.returncode, answer.stderr) == (0, "")
        assert not [path for path in cache.rglob("*") if path.is_file()]
    call("metal", "run", "add.metal", "add", "--threads", 4, "--arg", "iota:4", ANYMPS_SANDBOX="0")
    assert [path for path in cache.rglob("*") if path.is_file()]


def test_a_file_that_cannot_be_written(call, tmp_path):
    (tmp_path / "add.metal").write_text(ADD)
    words = ["metal", "run", "add.metal", "add", "--threads", 4, "--arg", "iota:4"]
    answer = call(*words, "--out", "0=nowhere/out.npy")
    assert (answer.returncode, answer.stderr) == (2, "anymps: error: nowhere/out.npy: cannot be written\n")
    answer = call("metal", "compile", "add.metal", "-o", "nowhere/add.metallib")
    assert (answer.returncode, answer.stderr) == (2, "anymps: error: nowhere/add.metallib: cannot be written\n")
