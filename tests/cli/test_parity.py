"""anymps parity, with real devices and small models."""

import json
import os
import pathlib

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "lab"
VIT = (EXAMPLES / "vit_tiny.py", "--image", 32, "--depth", 1, "--width", 64, "--samples", 64, "--batch-size", 8)

# Computes something else on mps where ODD is set; stops where CRASH names the device; kills the lab once where KILL
# names a file; runs on the device that STAY names. Notes in $RUNS which devices it was told.
SMALL = """
import argparse
import os
import signal
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--device")
device = parser.parse_args().device
odd = os.environ.get("ODD") and device == "mps"
where = os.environ.get("STAY", device)
with open(os.environ["RUNS"], "a") as runs:
    print(device, file=runs)
if os.environ.get("CRASH") == device:
    raise ValueError(f"no {device} today")
if device == "mps" and (flag := os.environ.get("KILL")) and not os.path.exists(flag):
    open(flag, "w").close()
    os.kill(os.getppid(), signal.SIGKILL)
    sys.exit(1)

import torch
from torch import nn


class Shift(nn.Module):
    def forward(self, x):
        return x + 0.05 if odd else x


model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), Shift(), nn.Linear(8, 1)).to(where)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(16, 4)
    loss = (model(x.to(where)) - x.sum(1, keepdim=True).to(where)).square().mean()
    if odd and step == 2:
        loss = loss * float("nan")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("accuracy: 80 %" if odd else "accuracy: 90 %")
"""


@pytest.fixture
def small(tmp_path) -> pathlib.Path:
    script = tmp_path / "small.py"
    script.write_text(SMALL)
    return script


@pytest.fixture
def parity(call, tmp_path):
    """Runs the command on cpu and mps; gives the status and the document."""

    def run(*words, **variables):
        result = call(
            "parity",
            "--devices",
            "cpu,mps",
            "--json",
            "--quiet",
            *words,
            RUNS=str(tmp_path / "runs.txt"),
            **variables,
        )
        assert result.stdout, result.stderr
        return result.returncode, json.loads(result.stdout)

    return run


@pytest.mark.sliced
def test_vit_without_dropout_is_the_same(parity, tmp_path):
    status, document = parity("--no-dropout", "--steps", 3, "--genuine", tmp_path, "--", *VIT)
    assert (status, document["verdict"]) == (0, "good"), document["findings"]
    (comparison,) = document["comparisons"]
    assert comparison["device"] == "mps"
    assert {row["kind"] for row in comparison["layers"]} >= {"Conv2d", "Linear", "LayerNorm"}
    assert not any(row["random"] for row in comparison["layers"])
    assert "head.weight" in {row["name"] for row in comparison["gradients"]}
    assert [step["step"] for step in comparison["steps"]] == [1, 2, 3]
    assert {row["kind"]: row for row in document["dtype_policy"]}["Linear"]["gradient"] == "float32"
    assert document["facts"]["simulated"] is True
    assert any("proves nothing about a Mac" in note for note in document["notes"])
    assert any("no .metallib" in note for note in document["notes"])
    assert not (tmp_path / "logbook.sqlite.runs").exists()


@pytest.mark.sliced
def test_dropout_is_not_judged(parity):
    status, document = parity("--steps", 1, "--", *VIT)
    assert status == 0
    (comparison,) = document["comparisons"]
    assert "Dropout" in {row["kind"] for row in comparison["layers"] if row["random"]}
    assert all(row["random"] for row in comparison["gradients"])
    assert not comparison["layers"][0]["random"]
    assert any("--no-dropout" in note for note in document["notes"])


@pytest.mark.sliced
def test_lstm_is_the_same(parity):
    command = (EXAMPLES / "lstm_words.py", "--steps", 5, "--width", 16, "--batch-size", 4)
    status, document = parity("--metric", "loss", "--tolerance", 0.01, "--", *command)
    assert status == 0, document["findings"]
    assert document["metric"]["within"] is True
    assert len(document["comparisons"][0]["steps"]) == 5


@pytest.mark.sliced
def test_what_differs_is_named(parity, small, tmp_path):
    table = tmp_path / "parity.tsv"
    options = ("--metric", "accuracy", "--tolerance", 5, "--table", table)
    status, document = parity(*options, "--update", "--", small)
    assert status == 0, document["findings"]
    assert document["metric"]["values"] == {"cpu": 90, "mps": 90}
    written = table.read_text()
    assert written.startswith("device\twhat\tname\tkind\tdtype\tmax_ulps\tmax_relative\nmps\tgradient\t0.bias\t")

    status, document = parity(*options, "--", small, ODD="1")
    assert (status, document["verdict"]) == (1, "bad")
    findings = "\n".join(document["findings"])
    assert "layer 2 (Shift) differs on mps" in findings
    assert "the loss of step 3 is" in findings and "nan on mps" in findings
    assert "accuracy is 90 on cpu and 80 on mps (tolerance 5)" in findings
    over = {row["name"] for row in document["comparisons"][0]["layers"] if row["over"]}
    assert over == {"2", "3"}
    assert any(change.startswith("layer 2 on mps got worse") for change in document["table"]["changed"])
    assert table.read_text() == written


def test_device_that_does_not_run_is_bad(parity, small):
    status, document = parity("--", small, CRASH="mps")
    assert (status, document["verdict"]) == (1, "bad")
    assert document["comparisons"][0]["outcome"] == "crashed"
    assert document["findings"] == ["on mps the script did not run (crashed): ValueError: no mps today"]
    assert "ValueError" in document["comparisons"][0]["output"]


@pytest.mark.sliced
def test_device_that_is_not_used_leaves_it_open(parity, small):
    status, document = parity("--steps", 1, "--", small, STAY="cpu")
    assert (status, document["verdict"]) == (2, "unknown")
    assert document["findings"] == ["asked for mps, the script had its parameters on cpu: nothing was compared"]


def test_reference_that_does_not_run_leaves_it_open(call, small, tmp_path):
    result = call("parity", "--devices", "cpu,mps", "--", small, CRASH="cpu", RUNS=str(tmp_path / "runs.txt"))
    assert result.returncode == 2
    assert "ValueError: no cpu today" in result.stdout
    assert "it could not be found out" in result.stdout
    assert (tmp_path / "runs.txt").read_text() == "cpu\n"


@pytest.mark.sliced
def test_goes_on_after_a_kill(call, parity, small, tmp_path):
    variables = {"KILL": str(tmp_path / "killed"), "RUNS": str(tmp_path / "runs.txt")}
    words = ("parity", "--devices", "cpu,mps", "--json", "--quiet", "--", small)
    killed = call(*words, **variables)
    assert killed.returncode == -9
    status, document = parity("--", small, KILL=variables["KILL"])
    assert status == 0, document["findings"]
    assert (tmp_path / "runs.txt").read_text() == "cpu\nmps\nmps\n"
    assert len(document["comparisons"][0]["layers"]) == 4


def test_what_cannot_be_run_is_said(call, tmp_path):
    script = tmp_path / "plain.py"
    script.write_text("print('hello')\n")
    for words, complaint in (
        (("--", script), "has no option --device"),
        (("--devices", "cpu", "--", script, "--device", "cpu"), "name two or more"),
        (("--table", "none.tsv", "--devices", "cpu,mps", "--", script, "--device", "cpu"), "none.tsv"),
        (("--update", "--", script), "--table"),
        ((), "nothing to run"),
    ):
        result = call("parity", *words)
        assert result.returncode == 2
        assert complaint in result.stderr
        assert result.stdout == ""


@pytest.mark.skipif("ANYMPS_GENUINE_KERNELS" not in os.environ, reason="tools/genuine_kernels.py brings them")
@pytest.mark.sliced
def test_genuine_kernels_are_near(parity, small):
    status, document = parity("--genuine", os.environ["ANYMPS_GENUINE_KERNELS"], "--", small)
    assert status == 0
    (row,) = [row for row in document["genuine"] if row["operator"] == "aten::tanh"]
    assert row["kernel"] == "tanh_dense_scalar_float_float"
    assert row["elements"] > 100
    assert row["not_finite"] == 0
    assert 0 < row["max_ulps"] < 64
