"""The recorder by itself: a copy of it beside a script, as a bundle carries it, without the device of anymps.

Memory of a native device is simulated by a script that replaces what torch.mps answers.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import anymps._lab
import pytest

LOOP = """
    import sys, torch
    from torch.utils.data import DataLoader, TensorDataset
    from torch.utils.checkpoint import checkpoint
    torch.manual_seed(7)
    data = TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
    loader = DataLoader(data, batch_size=4, num_workers=int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters())
    kept = []
    for epoch in range(4):
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = torch.nn.functional.mse_loss(checkpoint(model, x, use_reentrant=False), y)
            loss.backward()
            optimizer.step()
            kept.append(loss.detach().clone())
    print("came to its end")
"""


class Recorder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(Path(anymps._lab.__file__).parent, folder / "recorder", ignore=shutil.ignore_patterns("__pyc*"))

    def run(self, script: str, *arguments: str, **spec):
        (self.folder / "train.py").write_text(textwrap.dedent(script))
        recording = self.folder / "recording"
        shutil.rmtree(recording, ignore_errors=True)
        recording.mkdir()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ANYMPS")}
        result = subprocess.run(
            [sys.executable, "-m", "recorder", "train.py", *arguments],
            env=environment
            | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "ANYMPS_LAB": str(recording), "ANYMPS_LAB_SPEC": json.dumps(spec)},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        files = sorted(recording.glob("*.jsonl"))
        processes = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
        processes.sort(key=lambda events: events[0]["role"] != "main")
        return result, processes


@pytest.fixture
def recorder(tmp_path) -> Recorder:
    return Recorder(tmp_path)


def events(process, kind: str) -> list[dict]:
    return [event for event in process if event["e"] == kind]


def facts(process) -> dict:
    return {event["k"]: event["v"] for event in events(process, "fact")}


def test_a_script_is_recorded_to_its_end(recorder):
    result, (main,) = recorder.run(LOOP)
    assert result.returncode == 0, result.stderr
    assert "came to its end" in result.stdout
    steps = events(main, "step")
    assert [step["i"] for step in steps] == list(range(24))
    assert {step["n"] for step in steps} == {4}
    assert {step["name"] for step in steps} == {"Adam"}
    assert [epoch["steps"] for epoch in events(main, "epoch")] == [6, 6, 6, 6]
    told = facts(main)
    assert told["device"] == "cpu"
    assert told["seed"] == 7
    assert told["amp"] == "bfloat16"
    assert told["checkpointing"] is True
    assert events(main, "end")[0]["why"] == "script"
    assert main[0]["simulated"] is False


def test_a_window_ends_the_script(recorder):
    result, (main,) = recorder.run(LOOP, warm_up=2, steps=5)
    assert result.returncode == 0
    assert "came to its end" not in result.stdout
    assert [event["step"] for event in events(main, "window")] == [2, 7]
    assert len(events(main, "step")) == 7


def test_loader_workers_write_files_of_their_own(recorder):
    _, processes = recorder.run(LOOP, "2", mode="data", warm_up=1, steps=8, stages=True)
    main, *workers = processes
    assert len(events(main, "load")) == 9
    fetching = [worker for worker in workers if events(worker, "fetch")]
    assert len(fetching) >= 2
    assert all(events(worker, "use") for worker in fetching)
    assert sum(events(fetching[0], "fetch")[0]["stages"].values()) > 0


def test_what_is_no_stage_is_named_by_its_function(recorder):
    slow = LOOP.replace("data = TensorDataset", "import time\n    data = Slow").replace(
        "    torch.manual_seed(7)",
        "    torch.manual_seed(7)\n"
        "    class Slow(TensorDataset):\n"
        "        def __getitem__(self, index):\n"
        "            time.sleep(0.01)\n"
        "            return super().__getitem__(index)",
    )
    _, processes = recorder.run(slow, mode="data", warm_up=1, steps=3, stages=True)
    fetch = events(processes[0], "fetch")[0]
    longest = max(fetch["others"], key=fetch["others"].get)
    name, site = longest.split("\t")
    assert name == "time.sleep"
    assert site.endswith("train.py:8")


def test_arrays_and_pictures_in_memory_are_not_decoded(recorder):
    pytest.importorskip("PIL", reason="pip install pillow to read pictures")
    prepared = """
    import io, numpy, torch
    from PIL import Image
    from torch.utils.data import DataLoader, Dataset
    picture = Image.fromarray(numpy.zeros((64, 64, 3), numpy.uint8))
    file = io.BytesIO()
    picture.save(file, "PNG")
    class Pictures(Dataset):
        def __len__(self):
            return 8
        def __getitem__(self, index):
            chosen = Image.open(file) if READS else picture
            return numpy.pad(numpy.array(chosen.resize((32, 32))), 1)
    for epoch in range(2):
        for batch in DataLoader(Pictures(), batch_size=4):
            pass
    """
    spent = {}
    for reads in (False, True):
        _, (main,) = recorder.run(prepared.replace("READS", str(reads)), stages=True)
        spent[reads] = events(main, "fetch")[-1]["stages"]
    assert spent[False]["decode"] == 0 < spent[True]["decode"]
    assert spent[False]["augment"] > 0


def test_the_model_alone_is_called_on_one_batch(recorder):
    _, (main,) = recorder.run(LOOP, mode="forward", warm_up=2, steps=3)
    assert [event["counts"] for event in events(main, "forward")] == [False, False, True, True, True]
    assert len(events(main, "step")) == 1


def test_values_are_kept_for_parity(recorder):
    _, (main,) = recorder.run(LOOP, mode="parity", steps=1, warm_up=1, seed=3, no_dropout=True)
    layers = [event["name"] for event in events(main, "value") if event["what"] == "layer"]
    # Checkpointing calls every layer again for the backward pass.
    assert {"0", "1", "2"} <= set(layers)
    gradients = {event["name"] for event in events(main, "value") if event["what"] == "gradient"}
    assert gradients == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert [event["step"] for event in events(main, "loss")] == [0, 1]


def test_the_loss_is_the_programs_own_not_the_scaled_one(recorder):
    scaled = LOOP.replace("loss.backward()", "scaler.scale(loss).backward(); print(float(loss))").replace(
        "    kept = []", "    kept = []\n    scaler = torch.amp.GradScaler('cpu', init_scale=1024.0)"
    )
    result, (main,) = recorder.run(scaled, mode="parity", steps=1, warm_up=1, seed=3)
    shown = [float(line) for line in result.stdout.splitlines()]
    assert [event["value"] for event in events(main, "loss")] == shown
    assert len(shown) == 2


def test_who_makes_what_stays(recorder):
    _, (main,) = recorder.run(LOOP, mode="plateau", epochs=4, sites=True)
    rows = [event["rows"] for event in events(main, "sites")]
    line = next(number for number, text in enumerate(LOOP.splitlines(), 0) if "kept.append" in text)
    site = next(site for site in rows[-1] if site.endswith(f"train.py:{line + 1}"))
    assert [row[site][1] for row in rows] == [6, 12, 18]


def test_a_loop_that_is_broken_off_has_epochs_all_the_same(recorder):
    broken = LOOP.replace("kept.append(loss.detach().clone())", "\n            if len(kept) or True: break")
    _, (main,) = recorder.run(broken, mode="plateau")
    assert [epoch["steps"] for epoch in events(main, "epoch")] == [1, 1, 1, 1]


def test_a_native_device_is_asked_for_its_memory(recorder):
    native = """
    import torch
    asked = []
    torch.mps.current_allocated_memory = lambda: 1000 + len(asked)
    torch.mps.driver_allocated_memory = lambda: 5000
    torch.mps.recommended_max_memory = lambda: 10000
    torch.mps.synchronize = lambda: asked.append("synchronize")
    torch.mps.empty_cache = lambda: asked.append("empty_cache")
    torch.backends.mps.is_available = lambda: True
    import recorder
    for index in range(6):
        recorder.step()
        if index % 2:
            recorder.epoch()
    print(*asked)
    """
    result, (main,) = recorder.run(native, mode="plateau")
    assert result.returncode == 0, result.stderr
    assert facts(main)["device"] == "mps"
    assert facts(main)["limit"] == 17000
    assert {step["drv"] for step in events(main, "step")} == {5000}
    assert len(events(main, "epoch")) == 3
    assert result.stdout.split() == ["synchronize", "empty_cache"] * 3


def test_lines_that_a_full_disk_took_are_told(tmp_path):
    from anymps._lab.lines import Lines

    lines = Lines(str(tmp_path))
    lines.open()
    lines.event("first")
    whole, lines.file = lines.file, os.open("/dev/full", os.O_WRONLY)
    lines.event("second")
    os.close(lines.file)
    lines.file = whole
    lines.event("third")
    lines.event("fourth")
    os.close(whole)
    text = (tmp_path / f"{os.getpid()}.jsonl").read_text()
    events = [json.loads(line) for line in text.splitlines() if line]
    assert [event["e"] for event in events] == ["first", "lost", "third", "fourth"]
    assert events[1]["why"] == "No space left on device"


def test_a_record_that_cannot_be_opened_at_first_is_told(tmp_path):
    from anymps._lab.lines import Lines

    folder = tmp_path / "later"
    lines = Lines(str(folder))
    lines.open()
    lines.event("first")
    folder.mkdir()
    lines.event("second")
    os.close(lines.file)
    text = (folder / f"{os.getpid()}.jsonl").read_text()
    events = [json.loads(line) for line in text.splitlines() if line]
    assert [event["e"] for event in events] == ["lost", "second"]
    assert events[0]["why"] == "No such file or directory"
