"""What the runbook's commands have in common, and their smaller options."""

import json
import textwrap

import pytest
import slices

WHOLE = pytest.mark.skipif(not slices.whole(), reason="make test SLICE=1/1 runs it")
SHORT = ("--steps", 3, "--warm-up", 1)


@pytest.fixture
def quick(lab):
    """A script that needs neither the device nor a DataLoader."""
    path = lab.folder / "quick.py"
    path.write_text(
        textwrap.dedent("""
        import os, sys, torch
        if "fail" in sys.argv: raise SystemExit("no such thing as luck")
        weight = torch.nn.Parameter(torch.zeros(8))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        for _ in range(60):
            weight.sum().backward()
            optimizer.step()
        print("batch", sys.argv[1:], os.environ.get("BATCH"))
        """)
    )
    return path


def test_every_command_explains_itself(lab):
    for verb in ("doctor", "sweep", "plateau", "parity", "profile", "decide", "log", "handoff pack", "report"):
        result = lab.run(verb, "--help")
        assert result.returncode == 0
        assert "anymps" in result.stdout


@pytest.mark.parametrize("verb", ["sweep --batch-arg --batch-size", "plateau", "profile", "decide", "parity"])
def test_without_a_command_there_is_nothing_to_run(lab, verb):
    result = lab.run(verb)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1


def test_a_command_that_does_not_exist_cannot_run(lab):
    result = lab.run("plateau", "--json", "--", "no-such-program")
    assert result.returncode == 2
    assert "no-such-program" in result.stderr


def test_a_crash_is_a_result(lab, quick):
    document = lab.document("plateau", script=quick, arguments=["fail"], ANYMPS="0")
    assert document["verdict"] == "bad"
    assert document["failure"]["outcome"] == "crashed"
    assert document["failure"]["why"] == "no such thing as luck"


def test_a_mistyped_option_of_the_script_is_shown(lab):
    """The child's own words, and not just that it crashed."""
    script = lab.folder / "picky.py"
    script.write_text(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--batch-size')\np.parse_args()\n"
    )
    result = lab.run("sweep", "--batch-arg", "--bacth-size", "--to", 2, script=script)
    assert result.returncode == 1
    assert "crashed: picky.py: error: unrecognized arguments: --bacth-size 1" in " ".join(result.stdout.split())
    assert "| usage: picky.py" in result.stdout


@pytest.mark.sliced
def test_a_buffer_that_is_too_large_is_an_edge(lab):
    script = lab.folder / "wide.py"
    script.write_text(
        textwrap.dedent("""
        import sys, torch
        weight = torch.nn.Parameter(torch.ones(1, device="mps"))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        for _ in range(8):
            wide = torch.empty(int(sys.argv[2]), 1 << 30, dtype=torch.uint8, device="mps")
            weight.sum().backward()
            optimizer.step()
            del wide
        """)
    )
    options = ("--mac", "m1-8gb", "--batch-arg", "--batch-size", "--from", 2, "--to", 4, "--verify-steps", 4)
    result = lab.run("sweep", *options, *SHORT, script=script)
    assert "m1-8gb is simulated: PyTorch refuses beyond 9.1 GiB, and a single buffer of 4.0 GiB or more" in " ".join(
        result.stdout.split()
    )
    document = json.loads(lab.run("log", "show", "--json", "last").stdout)["run"]["document"]
    edge = document["series"][0]["edge"]
    assert (edge["largest_good"], edge["smallest_bad"]) == (3, 4)
    bad = document["series"][0]["points"][-1]
    assert bad["outcome"] == "out of memory"
    assert "Invalid buffer size: 4.00 GiB" in bad["why"]


def test_a_batch_can_come_from_the_environment(lab, quick):
    options = ("--batch-arg", "BATCH", "--from", 2, "--to", 2, "--verify-steps", 5)
    document = lab.document("sweep", *options, *SHORT, script=quick, ANYMPS="0")
    (point,) = document["series"][0]["points"]
    assert (point["batch"], point["outcome"]) == (2, "ran")
    logged = json.loads(lab.run("log", "show", "--json", "last").stdout)
    assert logged["run"]["verb"] == "sweep"


@WHOLE
def test_axes_multiply(lab, quick):
    options = (
        "--batch-arg",
        "BATCH",
        "--from",
        2,
        "--to",
        2,
        "--verify-steps",
        5,
        "--axis",
        "a=A:1,2",
        "--axis",
        "b=B:x",
    )
    document = lab.document("sweep", *options, *SHORT, script=quick, ANYMPS="0")
    assert [series["axes"] for series in document["series"]] == [{"a": "1", "b": "x"}, {"a": "2", "b": "x"}]


@WHOLE
def test_workers_are_added_one_at_a_time(lab):
    document = lab.document(
        "profile", "--hang-after", 6, "--bisect-workers", 2, *SHORT, script="hangs.py",
        arguments=["--samples", 32, "--batch-size", 4, "--workers", 0],
    )  # fmt: skip
    assert [(row["workers"], row["outcome"]) for row in document["workers"]] == [(0, "ran"), (1, "hung")]
    assert document["workers"][0]["descriptors"] > 0
    assert "workers" in document["findings"]


def test_a_loop_without_a_loader_has_a_plateau(lab, quick):
    """It tells of no epochs, so its 60 steps are divided."""
    document = lab.document("plateau", "--epochs", 6, script=quick, ANYMPS="0")
    assert document["verdict"] == "good"
    assert [epoch["steps"] for epoch in document["epochs"]] == [10] * 6
    assert any("no epochs, so its 60 steps were divided into epochs of 10" in note for note in document["notes"])


@WHOLE
def test_a_notebook_has_a_plateau_too(lab):
    code = textwrap.dedent("""
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        loader = DataLoader(TensorDataset(torch.randn(32, 4)), batch_size=8)
        model = torch.nn.Linear(4, 1).to("mps")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        kept = []
        for epoch in range(5):
            for (x,) in loader:
                optimizer.zero_grad()
                model(x.to("mps")).sum().backward()
                optimizer.step()
                kept.append(torch.ones(1000, device="mps"))
    """)
    cell = {"cell_type": "code", "source": code, "metadata": {}, "outputs": [], "execution_count": None}
    notebook = lab.folder / "study.ipynb"
    notebook.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    result = lab.run("plateau", "--json", "--epochs", 5, "--", notebook)
    document = json.loads(result.stdout)
    assert result.returncode == 1
    assert "study.ipynb[cell 1]" in document["sites"][0]["site"]


@WHOLE
def test_decide_beside_mlx(lab):
    pytest.importorskip("mlx.core", reason='pip install "mlx[cpu]" to have MLX beside')
    sizes = ("--image", "32", "--depth", "1", "--width", "64", "--batch-size", "4")
    document = lab.document(
        "decide", "--steps", 4, "--warm-up", 2, "--epochs", 3, "--drift-steps", 2,
        "--mlx", " ".join([f"python {lab.examples / 'vit_tiny_mlx.py'}", *sizes, "--steps 5"]),
        script="vit_tiny.py", arguments=(*sizes, "--samples", "32", "--epochs", "10"),
    )  # fmt: skip
    candidates = {candidate["name"]: candidate for candidate in document["candidates"]}
    assert candidates["mlx"]["step_seconds"] > 0
    assert candidates["mlx"]["simulated"] is False
