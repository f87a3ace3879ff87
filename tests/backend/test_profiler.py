"""torch.profiler and torch.mps.profiler: what ran on the device, by the names and in the places that users know."""

import gzip
import json
import pathlib
import shutil
import subprocess
import sysconfig

import anymps
import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

MULTIARCH = sysconfig.get_config_var("MULTIARCH") or ""
MPS = int(torch.autograd.DeviceType.MPS)

SLOW = """
#include <metal_stdlib>
using namespace metal;
kernel void slow_on_purpose(device float* x, uint i [[thread_position_in_grid]]) {
  float sum = x[i];
  for (uint k = 0; k < 20000; ++k) sum = sin(sum) + 1;
  x[i] = sum;
}
"""


def profiled(work, **keywords):
    work()  # compiled and warm
    with profile(activities=[ProfilerActivity.CPU], **keywords) as prof:
        work()
    return prof


def device_rows(prof):
    return {row.key: row for row in prof.key_averages() if row.device_type != torch.autograd.DeviceType.CPU}


def test_an_operator_has_its_time_on_the_device():
    x = torch.randn(300, 300, device="mps")
    prof = profiled(lambda: (x @ x).relu())
    rows = {row.key: row for row in prof.key_averages() if row.device_type == torch.autograd.DeviceType.CPU}
    assert rows["aten::mm"].self_device_time_total > 0
    assert rows["aten::mm"].self_device_time_total <= rows["aten::mm"].cpu_time_total
    # What does the device's work are no operators of the user's.
    assert "aten::addmm" not in rows and not any("as_strided" in key for key in rows)
    assert set(device_rows(prof)) == {"mps_mm", "mps_relu"}
    table = prof.key_averages().table(sort_by="self_device_time_total")
    assert "Self MPS" in table and "MPS time avg" in table


def test_a_program_of_the_cpu_has_the_table_that_it_had():
    x = torch.randn(30, 30)
    prof = profiled(lambda: x @ x)
    assert "MPS" not in prof.key_averages().table(sort_by="self_cpu_time_total")
    assert not device_rows(prof)


def test_a_slow_kernel_is_the_first_row():
    kernel = torch.mps.compile_shader(SLOW).slow_on_purpose
    x = torch.randn(200, 200, device="mps")
    slow = torch.rand(512, device="mps")

    def work():
        (x @ x).softmax(0)
        with record_function("here"):
            kernel(slow)

    prof = profiled(work)
    rows = sorted(device_rows(prof).values(), key=lambda row: row.self_device_time_total, reverse=True)
    assert rows[0].key == "slow_on_purpose"
    assert rows[0].count == 1
    table = prof.key_averages().table(sort_by="self_device_time_total", row_limit=1)
    assert "slow_on_purpose" in table


def test_the_trace_has_a_track_of_the_device(tmp_path):
    x = torch.randn(100, 100, device="mps", requires_grad=True)
    prof = profiled(lambda: (x @ x).sum().backward())
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    operators = {
        event["args"]["External id"]: event for event in events if event.get("cat") == "cpu_op" and "args" in event
    }
    assert {"mps_mm", "mps_sum"} <= {event["name"] for event in kernels}
    for kernel in kernels:
        asked = operators[kernel["args"]["External id"]]
        assert asked["name"].replace("aten::", "mps_") == kernel["name"]
        assert (kernel["args"]["device"], kernel["args"]["stream"]) == (0, 0)
        assert kernel["args"]["correlation"] == kernel["args"]["External id"]
        # Within the operator: nothing is queued. Their clocks are read apart.
        assert asked["ts"] - 100 <= kernel["ts"]
        assert kernel["ts"] + kernel["dur"] <= asked["ts"] + asked["dur"] + 100
    names = {event["pid"]: event["args"]["name"] for event in events if event.get("name") == "process_name"}
    assert names[kernels[0]["pid"]] == "mps"


def spans_of(prof, path):
    prof.export_chrome_trace(str(path))
    return [event["name"] for event in json.loads(path.read_text())["traceEvents"] if event.get("cat") == "Trace"]


def test_a_program_of_the_cpu_has_the_trace_that_it_had(tmp_path):
    x = torch.randn(30, 30)
    assert spans_of(profiled(lambda: x @ x), tmp_path / "cpu.json") == ["PyTorch Profiler (0)"]
    y = torch.randn(30, 30, device="mps")
    assert spans_of(profiled(lambda: y @ y), tmp_path / "mps.json") == ["PyTorch Profiler (0)", "mps (0)"]


def test_schedules_and_stacks(tmp_path):
    x = torch.randn(50, 50, device="mps")
    seen = []

    def ready(prof):
        seen.append(device_rows(prof)["mps_mm"].count)
        prof.export_chrome_trace(str(tmp_path / f"{len(seen)}.json"))

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=ready,
        with_stack=True,
    ) as prof:
        for _ in range(8):
            x @ x
            prof.step()
    assert seen == [2, 2]
    assert (tmp_path / "2.json").exists()


def test_threads_and_a_second_profile():
    import threading

    x = torch.randn(64, 64, device="mps")

    def work():
        threads = [threading.Thread(target=lambda: [x @ x for _ in range(5)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        x.relu()

    for _ in range(2):
        rows = device_rows(profiled(work))
        assert rows["mps_mm"].count == 15
        assert rows["mps_relu"].count == 1


def training(device):
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)).to(device)
    optimiser = torch.optim.Adam(net.parameters())

    def step():
        optimiser.zero_grad()
        net(torch.randn(32, 64).to(device)).square().mean().backward()
        optimiser.step()

    return step


def test_tables_have_the_devices_memory():
    x = torch.randn(300, 300, device="mps")
    torch.mps.empty_cache()  # a larger buffer from there would count whole
    results = []
    prof = profiled(lambda: results.append((x @ x).relu()), profile_memory=True)
    size = (x.nbytes + 255) // 256 * 256
    rows = {row.key: row for row in prof.key_averages() if row.device_type == torch.autograd.DeviceType.CPU}
    assert rows["aten::mm"].self_device_memory_usage == size
    assert rows["aten::relu"].self_device_memory_usage == size
    assert rows["aten::relu"].self_cpu_memory_usage == 0
    # Given back outside of an operator.
    assert rows["[memory]"].self_device_memory_usage == -size
    table = prof.key_averages().table(sort_by="self_device_memory_usage")
    assert "Self MPS Mem" in table
    on_the_cpu = profiled(lambda: torch.randn(300, 300).relu(), profile_memory=True).key_averages()
    assert "MPS" not in on_the_cpu.table(sort_by="self_cpu_memory_usage")


def test_the_trace_has_the_devices_memory(tmp_path):
    step = training("mps")
    step()
    before = torch.mps.current_allocated_memory()
    kept = []
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
        step()
        kept.append(torch.randn(1000, device="mps"))
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    memory = [event["args"] for event in events if event.get("name") == "[memory]"]
    memory = [args for args in memory if args["Device Type"] == MPS]
    total = before
    for args in memory:
        total += args["Bytes"]
        assert args["Total Allocated"] == total
    assert memory[-1]["Bytes"] >= kept[0].nbytes, "a cached buffer counts whole, as on a Mac"
    assert total == torch.mps.current_allocated_memory()
    assert memory[-1]["Total Reserved"] == torch.mps.driver_allocated_memory()


@pytest.mark.filterwarnings("ignore:`export_memory_timeline` is deprecated")
@pytest.mark.parametrize("device", ["mps", "mps:0", None])
def test_memory_timeline(tmp_path, device):
    step = training("mps")
    step()
    prof = profiled(step, profile_memory=True, record_shapes=True, with_stack=True)
    prof.export_memory_timeline(str(tmp_path / "timeline.json"), device=device)
    times, sizes = json.loads((tmp_path / "timeline.json").read_text())
    assert len(times) == len(sizes) > 10
    largest = torch.tensor(sizes)[:, 1:].amax(0)
    # Parameters, the optimiser's state, activations and gradients are told apart.
    assert (largest > 0).sum() >= 4
    assert max(map(sum, sizes)) > sum(sizes[0])
    prof.export_memory_timeline(str(tmp_path / "timeline.raw.json.gz"), device=device)
    with gzip.open(tmp_path / "timeline.raw.json.gz", "rt") as file:
        assert len(json.load(file)) > 10


@pytest.mark.filterwarnings("ignore:`export_memory_timeline` is deprecated")
def test_memory_timeline_of_the_cpu(tmp_path):
    prof = profiled(training("cpu"), profile_memory=True, record_shapes=True, with_stack=True)
    prof.export_memory_timeline(str(tmp_path / "timeline.json"))
    times, _ = json.loads((tmp_path / "timeline.json").read_text())
    assert len(times) > 10


def test_the_profiler_sees_a_refusal(python):
    code = """
import torch
from torch.profiler import ProfilerActivity, profile
torch.mps.set_per_process_memory_fraction(0.01)
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as prof:
    try:
        torch.empty(1 << 30, dtype=torch.uint8, device="mps")
    except RuntimeError:
        pass
print(sum(row.count for row in prof.key_averages() if row.key == "[OutOfMemory]"))
"""
    assert python(code).stdout == "1\n"


def test_a_training_loop_for_tensorboard(tmp_path):
    step = training("mps")
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=tensorboard_trace_handler(str(tmp_path), worker_name="w"),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as prof:
        for _ in range(9):
            step()
            prof.step()
    files = sorted(tmp_path.glob("w.*.pt.trace.json"))
    assert len(files) == 2
    for file in files:
        events = json.loads(file.read_text())["traceEvents"]
        steps = {event["name"] for event in events if event.get("name", "").startswith("ProfilerStep#")}
        assert len(steps) == 2
        kernels = [event["name"] for event in events if event.get("cat") == "kernel"]
        assert kernels.count("mps_linear") == 4
        assert any(event.get("name") == "[memory]" and event["args"]["Device Type"] == MPS for event in events)
        assert any(event.get("cat") == "python_function" and "Linear" in event["name"] for event in events)


def test_shapes_and_stacks(tmp_path):
    x, y = torch.randn(30, 40, device="mps"), torch.randn(40, 50, device="mps")

    def multiply_here():
        for _ in range(20):
            x @ y

    prof = profiled(
        multiply_here,
        record_shapes=True,
        with_stack=True,
        experimental_config=torch._C._profiler._ExperimentalConfig(verbose=True),
    )
    rows = prof.key_averages(group_by_input_shape=True)
    assert [row.count for row in rows if row.key == "aten::mm" and row.input_shapes == [[30, 40], [40, 50]]] == [20]
    # "cuda" is the profiler's word for the device here.
    for metric in ("self_cpu_time_total", "self_cuda_time_total"):
        path = tmp_path / metric
        prof.export_stacks(str(path), metric)
        lines = path.read_text().splitlines()
        assert any("multiply_here" in line for line in lines), metric
        assert all(int(line.rsplit(" ", 1)[1]) > 0 for line in lines)


@pytest.mark.parametrize("mode", ["interval", "event", "interval,event", "Interval, Event"])
def test_signposts(mode):
    with torch.mps.profiler.profile(mode=mode, wait_until_completed=True) as nothing:
        torch.ones(3, device="mps") + 1
    assert nothing is None
    torch.mps.profiler.stop()  # once more is no error


def test_signposts_that_are_wrong():
    with pytest.raises(RuntimeError, match="Invalid Signpost trace mode: bogus"):
        torch.mps.profiler.start("bogus")
    torch.mps.profiler.start("interval")
    with pytest.raises(RuntimeError, match="Tracing Signposts is already enabled"):
        torch.mps.profiler.start("event")
    torch.mps.profiler.stop()
    torch.mps.profiler.start("event")
    torch.mps.profiler.stop()


@pytest.mark.skipif(shutil.which("readelf") is None, reason="no readelf")
@pytest.mark.skipif(
    not any(pathlib.Path("/usr/include", *folder, "sys/sdt.h").exists() for folder in ((), (MULTIARCH,))),
    reason="no <sys/sdt.h> here: the library was built without probes",
)
def test_probes_are_in_the_library():
    """For perf and bpftrace; read by a tool that knows ELF."""
    command = ["readelf", "--notes", "--wide", anymps.library_path()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Provider: anymps" in shown
    assert "Name: operator_ran" in shown and "Name: shader_ran" in shown
