import json
import platform
import sys

import pytest
import torch


def gates(document) -> dict[str, dict]:
    return {gate["name"]: gate for gate in document["gates"]}


def test_this_machine_is_looked_at(call):
    answer = call("doctor", "--json", "--quiet", "--mac", "m2-8gb", PYTHONPATH="")
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert document["verdict"] == "good"
    found = gates(document)
    assert not [gate for gate in found.values() if gate["state"] == "red"]
    assert found["interpreter architecture"]["value"] == platform.machine()
    assert found["torch"]["value"] == torch.__version__
    assert "simulated device" in found["is_available"]["value"]
    assert found["matmul"]["value"].startswith("on mps")
    assert found["mac"]["value"].startswith("m2-8gb")
    assert found["macOS"]["value"].startswith("26.0, simulated on")
    assert found["threads"]["value"].startswith(f"{torch.get_num_threads()} within one operator (by ")
    assert document["facts"]["torch"] == torch.__version__
    assert document["facts"]["python"] == platform.python_version()
    assert document["facts"]["threads"] == torch.get_num_threads()


def test_red_is_status_1(call, tmp_path):
    (tmp_path / "injected").mkdir()
    variables = {"ANYMPS": "0", "PYTORCH_ENABLE_MPS_FALLBACK": "1", "PYTHONPATH": str(tmp_path / "injected")}
    answer = call("doctor", **variables)
    assert answer.returncode == 1
    assert "red    is_available" in answer.stdout
    assert "yellow environment variables" in answer.stdout
    assert "yellow injections                PYTHONPATH names" in answer.stdout
    assert "not ready" in answer.stdout


@pytest.fixture
def nightly(tmp_path):
    """A Python that answers at once: all is well with it, but that its torch is no release."""
    answers = {
        "version": "3.12.1",
        "architecture": platform.machine(),
        "torch": {"version": "2.14.0.dev20261101"},
        "wheel": {"version": "2.14.0.dev20261101", "tags": [], "requires_python": ">=3.10"},
        "mps": {"built": True, "available": True},
        "product": {"device": "mps", "difference": 0, "largest": 1},
    }
    python = tmp_path / "python-nightly"
    python.write_text(f"#!/bin/sh\necho something else first\nprintf %s '{json.dumps(answers)}'\n")
    python.chmod(0o755)
    return python


def test_yellow_is_good_unless_it_is_strict(call, nightly):
    answer = call("doctor", "--", nightly)
    assert answer.returncode == 0, answer.stdout
    assert "yellow torch" in answer.stdout
    answer = call("doctor", "--strict", "--json", "--", nightly)
    assert answer.returncode == 1
    document = json.loads(answer.stdout)
    assert gates(document)["torch"]["state"] == "yellow"
    assert document["status"] == 1


def test_another_python_is_looked_at(call, tmp_path):
    other = tmp_path / "python-of-another"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    other.chmod(0o755)
    answer = call("doctor", "--json", "--", other, "train.py")
    assert answer.returncode == 1
    document = json.loads(answer.stdout)
    assert gates(document)["torch"]["state"] == "red"
    assert document["command"] == [str(other)]


def test_a_python_that_crashes_is_red_and_one_that_is_not_there_status_2(call, tmp_path):
    crashing = tmp_path / "python"
    crashing.write_text("#!/bin/sh\nkill -ILL $$\n")
    crashing.chmod(0o755)
    answer = call("doctor", "--", crashing)
    assert answer.returncode == 1
    assert "status 132" in answer.stdout
    answer = call("doctor", "--json", "--", tmp_path / "no-python")
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert "cannot be started" in answer.stderr


def test_what_is_named_goes_into_the_logbook(call, nightly, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "one.txt").write_text("1")
    call(
        *("doctor", "--quiet", "--data", data, "--artifact-store", "127.0.0.1:1", "--resolution", "224x224"),
        *("--owner", "Ada", "--", nightly),
    )
    answer = call("log", "show", "last", "--json")
    facts = json.loads(answer.stdout)["run"]["facts"]
    assert facts["data_set"]["files"] == 1
    assert len(facts["data_set"]["sha256"]) == 64
    assert facts["artifact_store"]["rtt_seconds"] is None
    assert facts["artifact_store"]["error"]
    assert facts["resolution"] == "224x224"
    assert facts["owner"] == "Ada"
    assert facts["commit"] is None  # the folder of a test is in no repository
    assert {mount["name"] for mount in facts["cache_mounts"]} >= {"torch", "hugging face", "anymps"}
