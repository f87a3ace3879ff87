"""torch.mps.profiler's captures: launches are written down, by the names and with the texts that PyTorch has."""

import json
import os
import warnings

import pytest
import torch

SOURCE = """
#include <metal_stdlib>
kernel void scale(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] *= by; }
kernel void add(device float* out, device float* constant* from, uint i [[thread_position_in_grid]]) {
  out[i] = from[0][i] + from[1][i];
}
"""


@pytest.fixture(scope="module")
def shaders():
    return torch.mps.compile_shader(SOURCE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Captures are begun in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MTL_CAPTURE_ENABLED", "1")
    return tmp_path


def capture_in(folder):
    (found,) = folder.glob("*.gputrace")
    return found


def lines_of(capture):
    return [json.loads(line) for line in (capture / "launches.jsonl").read_text().splitlines()]


def bytes_of(capture, name):
    return (capture / "buffers" / f"{name}.bin").read_bytes()


def test_a_launch_is_written_with_its_memory_before_and_after(folder, shaders):
    x = torch.arange(4.0, device="mps")
    assert not torch.mps.profiler.is_capturing_metal()
    with torch.mps.profiler.metal_capture("step"):
        assert torch.mps.profiler.is_capturing_metal()
        shaders.scale(x, 3.0)
    assert not torch.mps.profiler.is_capturing_metal()
    shaders.scale(x, 5.0)  # of which nothing is written

    capture = capture_in(folder)
    assert capture.name.endswith("-step.gputrace")
    begun, ended = lines_of(capture)
    assert (begun["kernel"], begun["threads"]) == ("scale", [4, 1, 1])
    assert bytes_of(capture, begun["buffers"][0]["before"]) == torch.arange(4.0).numpy().tobytes()
    assert bytes_of(capture, ended["after"]["0"]) == (torch.arange(4.0) * 3).numpy().tobytes()
    assert (capture / begun["source"]).read_text().rstrip() == SOURCE.rstrip()
    assert (capture / begun["library"]).read_bytes()[:4] == b"MTLB"


def test_views_of_one_storage_stay_so(folder, shaders):
    x = torch.arange(8.0, device="mps")
    with torch.mps.profiler.metal_capture("views"):
        shaders.add(x[2:4], [x[4:], x[:2]], threads=2)
    begun, ended = lines_of(capture_in(folder))
    assert begun["bindings"][0] == {"buffer": 0, "bytes": 24, "index": 0, "offset": 8}
    assert begun["addresses"] == [
        {"at": 0, "buffer": 1, "of": 0, "offset": 16},
        {"at": 8, "buffer": 1, "of": 0, "offset": 0},
    ]
    assert [buffer["bytes"] for buffer in begun["buffers"]] == [32, 16]
    assert bytes_of(capture_in(folder), ended["after"]["0"]) == x.cpu().numpy().tobytes()


def test_operators_beside_the_kernels_are_named(folder, shaders):
    x = torch.ones(4, device="mps")
    with torch.mps.profiler.metal_capture("operators"):
        shaders.scale(x, 2.0)
        x.exp()
        x.exp()
    about = json.loads((capture_in(folder) / "capture.json").read_text())
    assert about["complete"] and about["launches"] == 1
    assert {ran["name"]: ran["count"] for ran in about["operators"]}["aten::exp"] == 2


def test_what_cannot_begin_says_why(folder, shaders, monkeypatch):
    with torch.mps.profiler.metal_capture("first"):
        with pytest.raises(RuntimeError, match=r"Failed to start capture of \d{4}-second.gputrace error .*in progress"):
            torch._C._mps_startCapture("second")
        assert torch.mps.profiler.is_capturing_metal()
    monkeypatch.delenv("MTL_CAPTURE_ENABLED")
    assert not torch.mps.profiler.is_metal_capture_enabled()
    message = "Failed to start capture of .*MTL_CAPTURE_ENABLED=1"
    with pytest.raises(RuntimeError, match=message), torch.mps.profiler.metal_capture("third"):
        pass
    torch._C._mps_stopCapture()  # once more is no error


def test_a_folder_that_is_there_is_not_written_into(folder):
    with torch.mps.profiler.metal_capture("here"):
        pass
    number = int(capture_in(folder).name[:4])
    (folder / f"{number + 1:04}-here.gputrace").mkdir()
    message = "Failed to start capture of .*File exists"
    with pytest.raises(RuntimeError, match=message), torch.mps.profiler.metal_capture("here"):
        pass
    assert os.listdir(folder / f"{number + 1:04}-here.gputrace") == []


def test_a_full_disk_ends_the_capture_and_not_the_program(python, tmp_path):
    code = f"""
import resource, signal, torch
lib = torch.mps.compile_shader('''{SOURCE}''')
x = torch.ones(5000, device="mps")
lib.scale(x, 2.0)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
with torch.mps.profiler.metal_capture("large"):
    lib.scale(x, 2.0)
    lib.scale(x, 2.0)
print(x.sum().item())
"""
    finished = python(f"import os; os.chdir({str(tmp_path)!r})\n{code}", MTL_CAPTURE_ENABLED="1")
    assert finished.stdout == "40000.0\n"
    assert finished.stderr.count("the capture ends here, the program goes on") == 1
    assert "File too large" in finished.stderr


def test_the_guides_form(folder):
    """Under torch.mps and without a name, which a Mac's PyTorch has not: it says so once."""
    model = torch.nn.Linear(4, 2).to("mps")
    input_tensor = torch.ones(1, 4, device="mps")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if torch.mps.is_metal_capture_enabled():
            with torch.mps.metal_capture():
                output = model(input_tensor)
    assert output.shape == (1, 2)
    assert capture_in(folder).name.endswith("-capture.gputrace")
    assert all(warning.filename == __file__ for warning in caught)
    assert any("torch.mps.profiler.metal_capture" in str(warning.message) for warning in caught)


def test_an_error_of_a_kernel_comes_out_after_the_capture_is_closed(folder):
    values = torch.ones(4, device="mps")
    with pytest.raises(RuntimeError, match="out of bounds"), torch.mps.profiler.metal_capture("bad"):
        values[torch.tensor([9], device="mps")]
    assert not torch.mps.profiler.is_capturing_metal()
    assert json.loads((capture_in(folder) / "capture.json").read_text())["complete"]
