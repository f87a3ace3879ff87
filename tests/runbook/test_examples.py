"""Every command's verdict on every script of examples/lab. A change is gated by those that tell most."""

import json

import pytest
import slices
from scripts import SCRIPTS, Script

GATING = {
    "plateau": {"vit_tiny.py", "hangs.py"},
    "sweep": set(),  # test_edge, test_kills and test_commands sweep
    "profile": {"item_each_step.py"},
    "decide": {"lstm_words.py"},
    "parity": set(),  # tests/cli/test_parity.py
    "kept": {"leaks.py"},
}
# Only where one is expected: a busy machine can keep a healthy script waiting for so long.
HANG = {"hangs.py": ("--hang-after", 6)}


def chosen(verb: str):
    share = slices.chosen()
    scripts = slices.part_of(SCRIPTS, share) if share else [script for script in SCRIPTS if script.name in GATING[verb]]
    return pytest.mark.parametrize("script", scripts, ids=[script.name for script in scripts])


def of_epochs(script: Script) -> tuple:
    return ("--epoch-steps", script.epoch_steps) if script.epoch_steps else ()


def run(lab, verb: str, script: Script, *words) -> dict:
    document = lab.document(verb, *HANG.get(script.name, ()), *words, script=script.name, arguments=script.arguments)
    assert document["status"] == getattr(script, verb), document
    return document


@chosen("plateau")
def test_plateau(lab, script):
    document = run(lab, "plateau", script, "--epochs", 6, *of_epochs(script))
    if script.name == "leaks.py":
        assert document["rise_share"] > 1
        worst = document["sites"][0]
        assert "leaks.py:" in worst["site"]
        assert "[512, 256]" in worst["example"]
    elif script.name == "hangs.py":
        assert document["failure"]["outcome"] == "hung"
        # The worker's own stack shows the lock.
        stacks = {stack["role"]: stack["stack"] for stack in document["failure"]["stacks"]}
        assert "hangs.py" in stacks["worker"]
    else:
        assert len(document["epochs"]) == 6
        assert document["sites"] == []


@chosen("sweep")
def test_sweep(lab, script):
    document = run(
        lab, "sweep", script, "--batch-arg", "--batch-size", "--from", 2, "--to", 8, "--steps", 4, "--warm-up", 2,
        "--verify-steps", 6,
    )  # fmt: skip
    (series,) = document["series"]
    if script.name == "hangs.py":
        assert series["points"][0]["outcome"] == "hung"
        assert series["recommended"] is None
        return
    assert [point["batch"] for point in series["points"]] == [2, 4, 8]
    for point in series["points"]:
        assert point["outcome"] == "ran"
        assert point["samples_low"] <= point["samples_high"]
        assert 0 < point["peak_bytes"] < point["limit_bytes"]
    assert series["recommended"]["verified_steps"] == 6
    assert document["facts"]["device"] == "mps"


@chosen("profile")
def test_profile(lab, script):
    document = run(lab, "profile", script, "--steps", 6, "--warm-up", 2)
    if script.profile == 1 and script.name != "hangs.py":
        assert script.finding in document["findings"]
    if script.name == "hangs.py":
        assert document["failure"]["outcome"] == "hung"
        return
    assert sum(document["full"]["shares"].values()) == pytest.approx(1)
    assert document["operators"]
    assert document["forward"]["seconds"] < document["full"]["step_seconds"]
    if script.name == "slow_loader.py":
        stages = document["data"]["stages"]
        assert stages["decode"] + stages["augment"] > 0.5
    if script.name == "item_each_step.py":
        assert document["waits"][0]["name"] == "item"
        assert "item_each_step.py:" in document["waits"][0]["site"]


@chosen("decide")
def test_decide(lab, script):
    document = run(
        lab, "decide", script, "--steps", 5, "--warm-up", 2, "--epochs", 4, "--drift-steps", 3, *of_epochs(script)
    )
    assert document["decision"]["outcome"] == script.outcome
    assert len(document["symptoms"]) == 6
    assert document["simulated"] is True
    mps = next(candidate for candidate in document["candidates"] if candidate["name"] == "mps")
    assert mps["simulated"] is True


@chosen("parity")
def test_parity(lab, script):
    document = run(lab, "parity", script, "--devices", "cpu,mps", "--no-dropout", "--steps", 4)
    if script.name == "hangs.py":
        # The reference itself hangs, so there is nothing to compare with.
        assert document["verdict"] == "unknown"
        return
    assert document["findings"] == []
    assert any("proves nothing about a Mac" in note for note in document["notes"])


@chosen("kept")
def test_what_is_kept_goes_on(lab, script):
    """The logbook, the bundle and the page tell the same verdict of a script as the command that judged it."""
    judged = run(lab, "plateau", script, "--epochs", 4, *of_epochs(script))
    logged = json.loads(lab.run("log show", "--json", judged["run"]).stdout)["run"]
    assert logged["verdict"] == judged["verdict"]
    assert logged["facts"]["torch"]
    # By these a report finds the doctor's run of the same machine.
    assert logged["facts"]["machine"]["memory_bytes"] > 0
    assert " of memory" in lab.run("log readme", judged["run"]).stdout

    bundle = lab.folder / "bundle.tar.zst"
    packed = lab.document(
        "handoff pack", "--owner", "the lab", "-o", bundle, script=script.name, arguments=script.arguments
    )
    assert packed["verdict"] == "good"
    assert lab.document("handoff verify", bundle, timeout=300)["verdict"] == "good"

    page = lab.folder / "report.html"
    result = lab.run("report", "-o", page, judged["run"])
    assert result.returncode == 0, result.stderr
    text = page.read_text()
    assert script.name in text
    assert judged["verdict"] in text
