"""`anymps trace`: what ran, where it waited, in tables and in a file that tools read."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

from trace_file import TraceFile

PROGRAM = """
import torch
kernel = torch.mps.compile_shader('''
#include <metal_stdlib>
using namespace metal;
kernel void slow_on_purpose(device float* x, uint i [[thread_position_in_grid]]) {
  float sum = x[i];
  for (uint k = 0; k < 20000; ++k) sum = sin(sum) + 1;
  x[i] = sum;
}''').slow_on_purpose
x = torch.randn(100, 100, device="mps", requires_grad=True)
slow = torch.rand(2048, device="mps")
for _ in range(3):
    with torch.profiler.record_function("my step"):
        loss = (x @ x).relu().mean()
        loss.backward()
    kernel(slow)
    for _ in range(5):
        (loss + 1).item()  # a planted wait
print("done")
"""


def rows_under(screen: str, heading: str) -> list[str]:
    lines = screen.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(heading))
    return lines[start + 1 : lines.index("", start)]


def test_the_tables_name_what_was_planted(call, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    path = tmp_path / "trace.json"
    answer = call("trace", "-o", str(path), str(script))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "done\n"
    assert rows_under(answer.stderr, "on the device")[0].startswith("slow_on_purpose")
    assert rows_under(answer.stderr, "called by the host")[0].startswith("my step")
    waits = rows_under(answer.stderr, "the host waits")[0]
    assert waits.startswith("item at") and "program.py:19" in waits and waits.split()[-1] == "15"
    assert "modelled" in answer.stderr and str(path) in answer.stderr

    events = json.loads(path.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    kernels = [event for event in spans if event["cat"] == "kernel"]
    assert [event["name"] for event in kernels].count("slow_on_purpose") == 3
    assert {event["args"]["threads"] for event in kernels if event["name"] == "slow_on_purpose"} == {2048}
    steps = [event for event in spans if event["name"] == "my step"]
    assert len(steps) == 3
    for step in steps:
        within = [k for k in kernels if step["ts"] <= k["ts"] and k["ts"] + k["dur"] <= step["ts"] + step["dur"]]
        assert {"aten::mm", "aten::relu", "aten::mean"} <= {event["name"] for event in within}
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert names[kernels[0]["pid"], kernels[0]["tid"]] == "mps"


def test_convolutions_have_the_names_of_a_mac(call, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        """
import torch
for kind in (torch.nn.Conv2d, torch.nn.ConvTranspose2d):
    kind(3, 3, 3).to("mps")(torch.randn(1, 3, 8, 8, device="mps")).sum().backward()
"""
    )
    answer = call("trace", str(script))
    assert answer.returncode == 0, answer.stderr
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    for names in (
        {event["name"] for event in events if event.get("cat") == "kernel"},
        {event["name"] for event in events if event["ph"] == "X" and event["cat"] != "kernel"},
    ):
        assert {name for name in names if "mps_convolution" in name} == {
            "aten::_mps_convolution",
            "aten::_mps_convolution_transpose",
            "aten::mps_convolution_backward",
            "aten::mps_convolution_transpose_backward",
        }
        assert not any("overrideable" in name for name in names)


def test_a_planted_fallback_is_the_first_row(call, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        """
import torch
x = torch.eye(3, device="mps")
torch.linalg.svd(x)  # falls back on a Mac, too
for _ in range(4):
    torch.linalg.eigvals(x)
"""
    )
    answer = call("trace", "--fallback", str(script))
    assert answer.returncode == 0, answer.stderr
    rows = rows_under(answer.stderr, "fell back to the CPU")
    assert rows[0].startswith("aten::_linalg_eigvals at") and "program.py:6" in rows[0] and rows[0].split()[-1] == "4"
    assert rows[1].startswith("aten::linalg_svd at") and "program.py:4" in rows[1]
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    planted = [event for event in events if event.get("cat") == "fallback" and "eigvals" in event["name"]]
    assert [event["args"]["at"].endswith("program.py:6") for event in planted] == [True] * 4


def test_all_tables_and_figures_as_json(call, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    answer = call("trace", "--quiet", "--json", "figures.json", str(script))
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "done\n" and answer.stderr == ""
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["version"] == 1 and figures["unreadable"] == [] and figures["fallbacks"] == []
    assert (figures["kernels"][0]["name"], figures["kernels"][0]["count"]) == ("slow_on_purpose", 3)
    (step,) = [row for row in figures["calls"] if row["name"] == "my step"]
    assert step["count"] == 3
    assert (figures["waits"][0]["name"], figures["waits"][0]["count"]) == ("item", 15)
    assert figures["waits"][0]["site"].endswith("program.py:19")
    (process,) = figures["processes"]
    assert process["lost_events"] == 0 < process["events"]
    assert process["modelled"]["kernels"] == sum(row["count"] for row in figures["kernels"])
    assert 0 < process["modelled"]["busy_share"] <= 1
    assert process["modelled"]["waited_seconds"] > 0
    in_the_trace = json.loads((tmp_path / "trace.json").read_text())["otherData"]["processes"]
    assert in_the_trace == [{"pid": process["pid"], "modelled": process["modelled"]}]


def test_a_queued_run_is_measured(call, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import torch\n"
        "x = torch.rand(700, 700, device='mps')\n"
        "for step in range(20):\n"
        "    y = (x @ x).softmax(0) @ x\n"
        "print(y.sum().item() > 0)\n"
    )
    answer = call("trace", "--json", "figures.json", str(script), ANYMPS_QUEUE="async")
    assert answer.returncode == 0, answer.stderr
    assert "measured  a device beside the host" in answer.stderr and "while the host did not wait" in answer.stderr
    (process,) = json.loads((tmp_path / "figures.json").read_text())["processes"]
    timeline = process["measured"]
    assert timeline["kernels"] >= 60
    assert 0 < timeline["waited_seconds"] < timeline["host_seconds"]
    assert timeline["overlapped_seconds"] == max(0, timeline["busy_seconds"] - timeline["waited_seconds"])


def test_processes_and_a_death(call, tmp_path):
    """Each process has its own place on one clock, and what one recorded before it was killed is there."""
    script = tmp_path / "program.py"
    script.write_text(
        """
import os, signal, subprocess, sys, torch
(torch.ones(3, device="mps") + 1).relu()
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"])
    torch.ones(3, device="mps").exp()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    path = tmp_path / "trace.json"
    answer = call("trace", "--quiet", "-o", str(path), str(script))
    assert answer.returncode == 0, answer.stderr
    events = json.loads(path.read_text())["traceEvents"]
    kernels = [event for event in events if event["ph"] == "X" and event["cat"] == "kernel"]
    by_process = {}
    for event in kernels:
        by_process.setdefault(event["pid"], {})[event["name"]] = event["ts"]
    assert len(by_process) == 2
    parent = next(names for names in by_process.values() if "aten::exp" in names)
    child = next(names for names in by_process.values() if "aten::exp" not in names)
    assert parent["aten::relu"] < child["aten::relu"] < parent["aten::exp"]


def test_a_file_that_cannot_be_written(call, tmp_path):
    answer = call("trace", "-o", str(tmp_path / "missing" / "trace.json"), "sh", "-c", "echo ran")
    assert answer.returncode == 2 and answer.stdout == ""
    assert "missing" in answer.stderr and len(answer.stderr.splitlines()) == 1


def test_a_full_disk_is_one_sentence_and_the_program_has_run(call, tmp_path):
    script = tmp_path / "program.py"
    script.write_text('import torch\ntorch.ones(3, device="mps") + 1\nprint("done")\n')
    (tmp_path / "full.json").symlink_to("/dev/full")
    (tmp_path / "full.json.part").symlink_to("/dev/full")
    answer = call("trace", "--quiet", "-o", str(tmp_path / "full.json"), str(script))
    assert answer.stdout == "done\n"
    assert answer.returncode == 1
    assert "No space left on device" in answer.stderr and len(answer.stderr.splitlines()) == 1


def test_without_room_for_a_trace_the_program_goes_on(call, tmp_path):
    """A limit on the size of files stands for a full disk."""
    script = tmp_path / "program.py"
    script.write_text(
        """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
import torch
print((torch.ones(3, device="mps") + 1).sum().item())
"""
    )
    answer = call("trace", str(script))
    assert answer.stdout == "6.0\n"
    assert answer.returncode == 1
    said = answer.stderr.splitlines()
    assert len(said) == 2 and "no process left a trace" in said[1]
    assert said[0].startswith("anymps: no trace of process ") and said[0].endswith(": File too large")


def test_a_run_folder_that_is_not_there(environment, tmp_path):
    code = 'import torch; print((torch.ones(3, device="mps") + 1).sum().item())'
    variables = environment | {"ANYMPS_RUN": str(tmp_path / "missing"), "ANYMPS_TRACE_CALLS": "1"}
    answer = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0 and answer.stdout == "6.0\n"
    (said,) = answer.stderr.splitlines()
    assert "no trace of process" in said and said.endswith(os.strerror(2))


def test_a_program_without_torch_leaves_no_trace(call, tmp_path):
    answer = call("trace", "-o", str(tmp_path / "trace.json"), "sh", "-c", "exit 3")
    assert answer.returncode == 3
    assert "no process left a trace" in answer.stderr


def test_the_clocks_of_events_and_of_the_trace_agree(call, tmp_path):
    """`elapsed_time` of a region of some 300 ms, and the same region in the trace."""
    script = tmp_path / "program.py"
    script.write_text(
        """
import time, torch
x = torch.ones(3, device="mps")
start, end = (torch.mps.Event(enable_timing=True) for _ in range(2))
x + 1
start.record()
x.relu()
time.sleep(0.3)
x.exp()
end.record()
torch.mps.synchronize()
print(start.elapsed_time(end))
"""
    )
    path = tmp_path / "trace.json"
    answer = call("trace", "--quiet", "-o", str(path), str(script))
    elapsed_ms = float(answer.stdout)
    events = json.loads(path.read_text())["traceEvents"]
    spans = {event["name"]: event for event in events if event["ph"] == "X" and event["cat"] == "kernel"}
    traced_ms = (spans["aten::exp"]["ts"] + spans["aten::exp"]["dur"] - spans["aten::relu"]["ts"]) / 1000
    assert abs(traced_ms - elapsed_ms) <= 0.05 * elapsed_ms


def leave_trace(tmp_path) -> tuple[str, ...]:
    """A program that leaves a trace without torch."""
    TraceFile().step("train.py:9", 1, 1 << 20).write(tmp_path)
    return ("--", "sh", "-c", f'cp "{tmp_path}/trace-4711.amt" "$ANYMPS_RUN/"')


def test_a_device_is_written_to_and_stays_one(call, tmp_path):
    answer = call("trace", "-o", "/dev/full", *leave_trace(tmp_path))
    assert answer.returncode == 1
    assert "cannot write /dev/full: No space left on device" in answer.stderr
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode) and not Path("/dev/full.part").exists()
    answer = call("trace", "-o", "/dev/stdout", *leave_trace(tmp_path))
    assert answer.returncode == 0 and "traceEvents" in json.loads(answer.stdout)


def test_a_link_stays_one(call, tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "there.json")
    (tmp_path / "there.json").write_text("before")
    assert call("trace", "-o", "link.json", *leave_trace(tmp_path)).returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert "traceEvents" in json.loads((tmp_path / "there.json").read_text())
