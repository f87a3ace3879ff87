import json
import platform
import sys

import torch


def test_it_tells_what_a_bug_report_needs(call):
    answer = call("env", "--json", OMP_NUM_THREADS="1", ANYMPS="0")
    assert answer.returncode == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert facts["python"]["version"] == platform.python_version()
    assert facts["python"]["prefix"] == sys.prefix
    assert facts["python"]["torch"]["version"] == torch.__version__
    assert facts["python"]["torch"]["cuda"] == torch.version.cuda
    assert facts["python"]["mps"]["available"] is False
    assert facts["python"]["why_not"] == "ANYMPS=0 keeps it out"
    assert facts["machine"]["kernel"].endswith(platform.release())
    assert facts["machine"]["cores"] >= facts["machine"]["cores_allowed"] > 0
    assert facts["machine"]["memory_bytes"] > 0
    assert facts["environment"]["OMP_NUM_THREADS"] == "1"
    assert facts["environment"]["ANYMPS"] == "0"
    assert "HOME" not in facts["environment"]


def test_the_device_is_there(call):
    answer = call("env")
    assert answer.returncode == 0, answer.stderr
    assert "\nmps          available\n" in answer.stdout
    assert torch.__version__ in answer.stdout


def test_a_python_without_torch_is_told_not_hidden(call, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('half installed')")
    answer = call("env", PYTHONPATH=str(tmp_path))
    assert answer.returncode == 0
    assert "half installed" in answer.stdout


def test_a_python_that_cannot_answer_is_told(call, tmp_path):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 9\n")
    python.chmod(0o755)
    answer = call("env", VIRTUAL_ENV=str(tmp_path))
    assert answer.returncode == 0
    assert "status 9" in answer.stdout


def test_an_old_macos_is_the_reason(call):
    assert (
        "not available: macOS 13.7 is simulated, and PyTorch asks for 14.0" in call("env", ANYMPS_MACOS="13.7").stdout
    )


def test_an_unknown_mac_is_the_reason(call):
    assert "not available: anymps: there is no Mac named `m2-9gb`" in call("env", ANYMPS_MAC="m2-9gb").stdout
