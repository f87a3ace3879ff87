"""`anymps size`: verdicts for every Mac from one run, the batch line, and what is passed on."""

import json
import re

import gate
import pytest

TRAINING = """
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--steps", type=int, default=5)
options = parser.parse_args()
model = torch.nn.Sequential(torch.nn.Linear(1024, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10)).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(options.batch_size, 1024, device="mps")
for _ in range(options.steps):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
print("trained", options.batch_size)
"""


@pytest.fixture
def training(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAINING)
    return "train.py"


@pytest.mark.sliced
def test_one_run_answers_for_every_mac(call, training, tmp_path):
    answer = call("size", "--json", "figures.json", "--html", "size.html", "--other-apps", "4gb", training)
    assert answer.returncode == 0, answer.stderr
    assert "trained 8" in answer.stderr and "trained" not in answer.stdout
    figures = json.loads((tmp_path / "figures.json").read_text())
    macs = {mac["name"]: mac for mac in figures["macs"]}
    assert set(macs) == {row.split()[0] for row in call("macs").stdout.splitlines() if re.match(r"m\d", row)}
    assert macs["m4max-128gb"]["verdict"] == "fits"
    assert macs["m2-8gb"]["swaps_at_bytes"] == 4 << 30
    assert figures["other_bytes"] == 4 << 30
    # 2 * 1024 * 2048 + 2 * 2048 * 10 weights and the like: more than the parameters, far less than the interpreter.
    assert 8 << 20 < figures["block_bytes"] < 1 << 30 and figures["resident_bytes"] > figures["block_bytes"]
    assert figures["resident_processes"] >= 1
    html = (tmp_path / "size.html").read_text()
    for name in macs:
        assert name in answer.stdout and name in html
    assert "estimate" in answer.stdout


JOINED = """
import torch
held = [torch.empty(8 << 20, dtype=torch.uint8, device="mps") for _ in range(4)]
held[1:3] = []
held.append(torch.empty(9 << 20, dtype=torch.uint8, device="mps"))
"""


@pytest.mark.parametrize(("release", "heaps"), [("2.13", 72 << 20), ("2.15", 40 << 20)])
def test_heaps_are_those_of_the_release_that_is_asked_for(call, tmp_path, release, heaps):
    (tmp_path / "joined.py").write_text(JOINED)
    answer = call("size", "--as-torch", release, "--json", "figures.json", "joined.py")
    assert f"by the rules of PyTorch {release}" in answer.stdout
    # With 8 MiB for what is asked at the end, to wait for PyTorch's thread of the backward pass.
    assert json.loads((tmp_path / "figures.json").read_text())["run"]["memory"]["driver_bytes"] == heaps


@pytest.mark.sliced
def test_flops_of_a_step_are_counted(call, training, tmp_path):
    call("size", "--json", "figures.json", training, "--batch-size", "16")
    figures = json.loads((tmp_path / "figures.json").read_text())
    # Forward: both layers. Backward: the gradient of both weights, and of the second layer's input only.
    first, second = 2 * 16 * 1024 * 2048, 2 * 16 * 2048 * 10
    assert figures["step_flops"] == 2 * first + 3 * second
    parameters = 4 * (1024 * 2048 + 2048 + 2048 * 10 + 10)
    assert figures["step_bytes"] > 4 * parameters  # read forwards, gradients written, read and applied
    mac = {mac["name"]: mac for mac in figures["macs"]}["m2-8gb"]
    by_flops = figures["step_flops"] / (3.6e12 * 0.5)
    by_bytes = figures["step_bytes"] / (100e9 * 0.5)
    assert mac["estimated_step_seconds"] == pytest.approx(max(by_flops, by_bytes))


@pytest.mark.sliced
def test_too_few_steps_give_no_estimate(call, training, tmp_path):
    answer = call("size", "--json", "figures.json", training, "--steps", "2")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["step_flops"] is None and figures["macs"][0]["estimated_step_seconds"] is None
    assert "No estimate of step times" in answer.stdout


@pytest.mark.sliced
def test_the_batch_line_extrapolates(call, training, tmp_path):
    words = ("--batch-arg", "--batch-size", training, "--batch-size=2048")
    answer = call("size", "--json", "figures.json", *words)
    assert answer.returncode == 0, answer.stderr
    assert [f"trained {size}" in answer.stderr for size in (2048, 1024, 512)] == [True] * 3
    batch = json.loads((tmp_path / "figures.json").read_text())["batch"]
    assert batch["batches"] == [2048, 1024, 512]
    # A sample is at least its input, the hidden layer and that layer's gradient.
    assert 4 * (1024 + 2 * 2048) * 0.8 < batch["block_line"]["bytes_per_sample"] < 4 * (1024 + 8 * 2048)
    largest = {mac["name"]: mac["largest_batch"] for mac in json.loads((tmp_path / "figures.json").read_text())["macs"]}
    assert 2048 < largest["m2-8gb"] < largest["m1-16gb"] < largest["m4max-128gb"]


@pytest.mark.sliced
def test_the_largest_buffer_is_a_limit_too(call, tmp_path):
    """Half of what m1-8gb may have together, and more than it allows for one buffer."""
    (tmp_path / "wide.py").write_text(
        "import sys, torch\n"
        "size = int(sys.argv[sys.argv.index('--batch-size') + 1])\n"
        "kept = torch.empty(size, 64 << 20, dtype=torch.uint8, device='mps')\n"
    )
    words = ("--batch-arg", "--batch-size", "wide.py", "--batch-size", "70")
    answer = call("size", "--json", "figures.json", *words)
    assert answer.returncode == 0, answer.stderr
    macs = {mac["name"]: mac for mac in json.loads((tmp_path / "figures.json").read_text())["macs"]}
    assert (macs["m1-8gb"]["verdict"], macs["m1-8gb"]["largest_batch"]) == ("buffer too large", 63)
    assert macs["m1-16gb"]["verdict"] == "fits"
    assert call("run", "--mac", "m1-8gb", "wide.py", "--batch-size", 63).returncode == 0
    said = call("run", "--mac", "m1-8gb", "wide.py", "--batch-size", 64)
    assert said.returncode == 1
    assert "A buffer of 4.0 GiB is too large for m1-8gb" in said.stdout + said.stderr


def test_loader_workers_are_resident_sets_too(call, tmp_path):
    (tmp_path / "load.py").write_text(
        "import time, torch\n"
        "kept = torch.ones(1 << 20, device='mps')\n"
        "class Slow(torch.utils.data.Dataset):\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, i): time.sleep(0.5); return torch.ones(1 << 20)\n"
        "for batch in torch.utils.data.DataLoader(Slow(), batch_size=1, num_workers=2): pass\n"
    )
    answer = call("size", "--json", "figures.json", "load.py")
    assert answer.returncode == 0, answer.stderr
    assert json.loads((tmp_path / "figures.json").read_text())["resident_processes"] >= 3


@pytest.mark.skipif(gate.available_bytes() < 14 << 30, reason="needs 14 GiB that the machine could back")
def test_the_run_has_no_limit_of_a_mac(call, tmp_path):
    (tmp_path / "big.py").write_text(
        "import os, torch\n"
        "assert os.environ['PYTORCH_MPS_HIGH_WATERMARK_RATIO'] == '0.0'\n"
        "assert torch.mps.recommended_max_memory() > 400 << 30\n"
        "kept = [torch.empty(1 << 30, dtype=torch.uint8, device='mps') for _ in range(12)]\n"
    )
    answer = call("size", "--json", "figures.json", "big.py")
    assert answer.returncode == 0, answer.stderr
    macs = {mac["name"]: mac for mac in json.loads((tmp_path / "figures.json").read_text())["macs"]}
    assert macs["m2-8gb"]["verdict"] == "out of memory"
    assert macs["m3ultra-512gb"]["verdict"] == "fits"


def test_a_failure_is_the_childs_and_gives_no_answer(call):
    answer = call("size", "sh", "-c", "exit 7")
    assert answer.returncode == 7
    assert answer.stdout == ""
    assert "size is not known" in answer.stderr


def test_a_run_without_the_device_has_no_size(call):
    answer = call("size", "true")
    assert answer.returncode == 1
    assert "took no memory on the mps device" in answer.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["size"], "nothing to run"),
        (["size", "--other-apps", "four", "true"], "`four` is no size"),
        (["size", "--batch-arg", "--bs", "true"], "the command has no --bs"),
        (["size", "--html", "/nowhere/x.html", "true"], "cannot write /nowhere/x.html"),
    ],
)
def test_a_wrong_command_line_is_one_line(call, words, text):
    answer = call(*words)
    assert answer.returncode == 2
    assert text in answer.stderr and len(answer.stderr.splitlines()) == 1


@pytest.mark.sliced
def test_a_peak_that_the_batch_does_not_hold(call, tmp_path):
    """A validation with batches of its own holds the peak of small batches: larger ones tell how a batch grows."""
    (tmp_path / "validated.py").write_text(
        "import sys, torch\n"
        "size = int(sys.argv[sys.argv.index('--batch-size') + 1])\n"
        "for rows in (size, 300):\n"
        "    kept = torch.empty(rows, 1 << 20, dtype=torch.uint8, device='mps')\n"
        "    del kept\n"
    )
    words = ("--batch-arg", "--batch-size", "validated.py", "--batch-size", "160")
    answer = call("size", "--json", "figures.json", *words)
    assert answer.returncode == 0, answer.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["batch"]["batches"] == [320, 640, 1280]
    assert abs(figures["batch"]["block_line"]["bytes_per_sample"] / (1 << 20) - 1) < 0.01
