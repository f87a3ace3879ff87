"""`anymps run`: status, signals, output, and the figures of a real training."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

TRAINING = """
import sys, torch
device = sys.argv[1] if len(sys.argv) > 1 else "mps"
model = torch.nn.Linear(8, 4).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(30):
    loss = model(torch.ones(2, 8, device=device)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    last = loss.item()
print("trained")
"""


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)]
)
def test_the_status_is_the_childs(call, script, status):
    answer = call("run", "--", "sh", "-c", script)
    assert answer.returncode == status
    assert f"status {status}" in answer.stderr


def test_output_is_the_childs_and_figures_go_to_standard_error(call):
    answer = call("run", "sh", "-c", "echo out; echo err >&2")
    assert answer.stdout == "out\n"
    assert answer.stderr.startswith("err\n")
    assert "anymps run" in answer.stderr
    assert "\x1b" not in answer.stderr
    assert call("run", "--quiet", "sh", "-c", "echo err >&2").stderr == "err\n"


def test_input_reaches_the_child(anymps, environment):
    answer = subprocess.run([anymps, "run", "--quiet", "cat"], env=environment, input=b"abc", capture_output=True)
    assert answer.stdout == b"abc"


def test_the_child_learns_where_to_trace_and_nothing_stays(call, environment):
    script = 'echo "$ANYMPS_RUN" $ANYMPS_REQUIRED $PYTORCH_ENABLE_MPS_FALLBACK$ANYMPS_SYNC; ls -d "$ANYMPS_RUN"'
    answer = call("run", "--fallback", "--sync", "sh", "-c", script)
    folder, required, asked = answer.stdout.splitlines()[0].split()
    assert (required, asked) == ("1", "11")
    assert answer.stdout.splitlines()[1] == folder
    assert folder.startswith(environment["TMPDIR"])
    assert os.listdir(environment["TMPDIR"]) == []


def test_keep_keeps_and_refuses_a_folder_with_something_in_it(call, tmp_path):
    assert call("run", "--keep", "kept", "true").returncode == 0
    assert json.loads((tmp_path / "kept" / "summary.json").read_text())["run"]["status"] == 0
    again = call("run", "--keep", "kept", "touch", "started")
    assert again.returncode == 1
    assert "not empty" in again.stderr
    assert not (tmp_path / "started").exists()


def test_versus_runs_again_and_keeps_standard_output_clean(call, tmp_path):
    answer = call("run", "--versus", "'second time' x", "--json", "figures.json", "sh", "-c", 'echo "$0"', "first")
    assert answer.stdout == "first\n"
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["versus"]["command"] == ["sh", "-c", 'echo "$0"', "first", "second time", "x"]
    assert figures["speed_ratio"] is None


def test_versus_is_not_run_after_a_failure(call, tmp_path):
    answer = call("run", "--versus", "x", "--json", "figures.json", "sh", "-c", "echo run; exit 3")
    assert answer.returncode == 3
    assert answer.stdout + answer.stderr.split("─")[0] == "run\n"
    assert "versus" not in json.loads((tmp_path / "figures.json").read_text())


def test_versus_that_fails_is_the_status(call):
    answer = call("run", "--versus", "5", "sh", "-c", "exit ${1:-0}", "sh")
    assert answer.returncode == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_child_and_the_figures_still_come(anymps, environment, tmp_path, number):
    ready = tmp_path / "ready"
    script = f"trap 'exit 42' INT TERM; : > '{ready}'; while :; do sleep 0.05; done"
    running = subprocess.Popen(
        [anymps, "run", "sh", "-c", script],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores interrupts, and a shell cannot trap what was ignored when it began.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 20
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(number)
    _, said = running.communicate(timeout=20)
    assert running.returncode == 42
    assert "status 42" in said
    assert os.listdir(environment["TMPDIR"]) == []


def test_a_run_without_the_device_says_so(call):
    assert "no process of this run loaded the mps device" in call("run", "true").stderr


@pytest.mark.sliced
def test_a_training_gives_its_figures(call, tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    answer = call("run", "--versus", "cpu", "--json", "figures.json", "train.py")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "trained\n"
    figures = json.loads((tmp_path / "figures.json").read_text())
    for run in (figures["run"], figures["versus"]):
        (steps,) = run["steps"]
        assert (steps["name"], steps["count"], steps["intervals"]) == ("SGD", 30, 29)
        assert pathlib.Path(steps["site"]).name == "train.py:10"
        assert steps["per_second"] > 0
        assert run["processes"] == 1
    assert figures["speed_ratio"] > 0
    assert figures["run"]["memory"]["driver_bytes"] >= figures["run"]["memory"]["tensor_bytes"] > 0
    assert figures["versus"]["memory"]["tensor_bytes"] == 0
    items = {entry["site"].rsplit("/", 1)[-1]: entry["count"] for entry in figures["run"]["synchronisations"]}
    assert items.get("train.py:11") == 30
    assert "30 steps" in answer.stderr


@pytest.mark.sliced
def test_a_killed_training_still_gives_its_figures(call, tmp_path):
    (tmp_path / "train.py").write_text(TRAINING + "import os; os.kill(os.getpid(), 9)\n")
    answer = call("run", "train.py", "cpu")
    assert answer.returncode == 137
    assert "30 steps" in answer.stderr
    assert "SIGKILL" in answer.stderr


@pytest.mark.sliced
def test_steps_of_a_grandchild_are_counted(call, tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    answer = call("run", "sh", "-c", '"$VIRTUAL_ENV/bin/python" train.py cpu; true')
    assert "30 steps" in answer.stderr


def test_a_loop_without_an_optimiser_marks_its_own_steps(call, tmp_path):
    (tmp_path / "loop.py").write_text("import torch, anymps\nfor _ in range(12):\n    anymps.step()\nanymps.epoch()\n")
    answer = call("run", "--json", "figures.json", "loop.py")
    assert answer.returncode == 0, answer.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["run"]["steps"][0]["count"] == 12
    assert figures["run"]["epochs"] == 1


def test_marks_do_nothing_outside_of_a_run(environment):
    script = "import sys, anymps; anymps.step(); anymps.epoch(); assert 'anymps._C' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], env=environment | {"ANYMPS": "0"}, check=True, timeout=60)


WAITS = """
import torch
x = torch.randn(16, 8, device="mps")
parameter = torch.nn.Parameter(x.clone())
optimizer = torch.optim.SGD([parameter], lr=0.1)
for _ in range(12):
    loss = parameter.square().mean()
    loss.backward()
    optimizer.step()
    loss.detach().cpu()
    loss.detach().cpu()  # nothing to wait for
    (loss * 2).tolist()
    text = f"{loss * 3:.3f}"
    rows = (x > 0).nonzero()
    kept = x[x > 0]
    values = torch.unique(x.round())
    chosen = torch.masked_select(x, x > 1)
    same = torch.equal(x, x + 1)
    text = str(x * 2)
    if loss > 1e9:
        break
"""


@pytest.mark.sliced
def test_a_wait_is_the_same_to_run_and_to_check(call, tmp_path):
    (tmp_path / "waits.py").write_text(WAITS)
    assert call("run", "--json", "run.json", "waits.py").returncode == 0
    call("check", "--fail-on", "never", "--json", "check.json", "waits.py")
    ran = json.loads((tmp_path / "run.json").read_text())["run"]["synchronisations"]
    by_run = {int(row["site"].rpartition(":")[2]): (row["name"], row["count"]) for row in ran}
    checked = json.loads((tmp_path / "check.json").read_text())["findings"]
    waits = [finding for finding in checked if finding["rule"] == "synchronisation"]
    by_check = {finding["line"]: (finding["subject"], finding["count"]) for finding in waits}
    assert by_run == by_check
    kinds = (
        "copy to cpu",
        "copy to cpu",
        "item",
        "nonzero",
        "mask",
        "unique",
        "masked_select",
        "equal",
        "print",
        "item",
    )
    assert [by_run[line] for line in sorted(by_run)] == [(kind, 12) for kind in kinds]
