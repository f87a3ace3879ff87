"""pytest --mps-mac: a suite on a simulated Mac, and what the check finds in it."""

import importlib.util
import os
import subprocess
import sys

import pytest

SUITE = """
import os
import torch

def test_device():
    assert os.environ["ANYMPS_REQUIRED"] == "1"
    assert torch.backends.mps.get_name().startswith("Apple M2")

def test_eigenvalues():
    matrix = torch.eye(3, device="mps")
    values, _ = torch.linalg.eigh(matrix)
    assert values.sum().item() == 3
"""
FOUND = "test_suite.py:11: error: refused-operator: aten::_linalg_eigh"


@pytest.fixture
def suite(anymps, tmp_path):
    """Runs pytest on tests of this text, in a folder and a process of their own."""

    def run_suite(*options, text=SUITE, **variables) -> subprocess.CompletedProcess:
        (tmp_path / "test_suite.py").write_text(text)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        temporary = tmp_path / "tmp"
        temporary.mkdir(exist_ok=True)
        unwanted = ("ANYMPS", "PYTEST", "PYTORCH_", "NO_COLOR")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        environment |= {"ANYMPS_EXECUTABLE": anymps, "TMPDIR": str(temporary)}
        answer = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "test_suite.py"],
            env=environment | variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert list(temporary.glob("anymps-*")) == []
        return answer

    return run_suite


def section(answer: subprocess.CompletedProcess) -> list[str]:
    """The lines of the findings, without those around them."""
    lines = answer.stdout.splitlines()
    assert any(" mps findings " in line for line in lines), answer.stdout + answer.stderr
    begin = next(index for index, line in enumerate(lines) if " mps findings " in line)
    end = next(
        index for index, line in enumerate(lines) if index > begin and (line.startswith("=") or "passed" in line)
    )
    return list(filter(None, lines[begin + 1 : end]))


def test_findings_come_after_the_tests(suite):
    answer = suite("--mps-mac", "m2-8gb")
    assert answer.returncode == 1, answer.stdout
    assert "1 failed, 1 passed" in answer.stdout
    assert "NotImplementedError: The operator 'aten::_linalg_eigh.eigenvalues' is not currently" in answer.stdout
    finding, verdict = section(answer)
    assert finding.startswith(FOUND)
    assert verdict.startswith("1 error")


SLOW = """
import torch

def test_values():
    x = torch.ones(3, device="mps")
    for _ in range(50):
        assert x.sum().item() == 3
"""


@pytest.mark.parametrize(("level", "status"), [("error", 0), ("warning", 1), ("never", 0)])
def test_findings_fail_the_run_where_that_is_asked_for(suite, level, status):
    answer = suite("--mps-mac", "m2-8gb", "--mps-fail-on", level, text=SLOW)
    assert answer.returncode == status, answer.stdout
    assert "1 passed" in answer.stdout


EXPECTING = """
import pytest
import torch
import unittest

MATRIX = torch.eye(3, device="mps")

def test_raises():
    with pytest.raises(NotImplementedError):
        torch.linalg.eigh(MATRIX)
    pytest.raises(RuntimeError, torch.linalg.eigh, MATRIX)

class Case(unittest.TestCase):
    def test_asserts(self):
        with self.assertRaisesRegex(NotImplementedError, "eigh"):
            torch.linalg.eigh(MATRIX)
        self.assertRaises(NotImplementedError, lambda: torch.linalg.eigh(MATRIX))

def test_caught():
    try:
        values = torch.linalg.eigh(MATRIX)
    except NotImplementedError:
        values = torch.linalg.eigh(MATRIX.cpu())
    assert values[0].sum() == 3

def test_a_type():
    with pytest.raises(TypeError):
        MATRIX.double()
"""


def test_what_a_test_expects_is_refused_and_no_finding(suite):
    answer = suite("--mps-mac", "m2-8gb", "--mps-fail-on", "error", text=EXPECTING)
    assert "4 passed" in answer.stdout, answer.stdout
    assert not [line for line in section(answer) if "refused" in line], answer.stdout
    assert answer.returncode == 0


def test_a_test_allows_rules(suite):
    text = SUITE.replace("def test_eigenvalues", "@pytest.mark.mps_allow('refused-operator')\ndef test_eigenvalues")
    answer = suite("--mps-mac", "m2-8gb", "--strict-markers", text="import pytest\n" + text)
    assert "1 failed, 1 passed" in answer.stdout
    assert section(answer) == ["nothing found"]


def test_another_release_is_simulated(suite):
    text = "import torch\ndef test_it():\n    torch.linalg.qr(torch.eye(3, device='mps'))\n"
    assert [line for line in section(suite("--mps-as-torch", "2.7.0", text=text)) if "refused-operator" in line]


def test_a_run_without_the_options_is_left_alone(suite):
    text = "import os, sys\ndef test_it():\n    assert 'torch' not in sys.modules and 'ANYMPS_RUN' not in os.environ\n"
    answer = suite(text=text)
    assert answer.returncode == 0, answer.stdout
    assert "mps findings" not in answer.stdout


def test_a_suite_without_torch_is_told_so(suite):
    text = "def test_it():\n    pass\n"
    answer = suite("--mps-mac", "m2-8gb", "--mps-fail-on", "error", text=text)
    assert answer.returncode == 1
    assert section(answer) == ["nothing was checked: no test imported torch"]


def test_torch_that_was_there_before_is_refused_in_words(suite, tmp_path):
    (tmp_path / "early.py").write_text("import torch\n")
    answer = suite("-p", "early", "--mps-mac", "m2-8gb", PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert answer.returncode == pytest.ExitCode.USAGE_ERROR
    assert "torch has been imported already" in answer.stderr
    assert "anymps check --mac m2-8gb -- " in answer.stderr


def test_a_mac_that_does_not_exist_is_refused_in_words(suite):
    answer = suite("--mps-mac", "m9-1gb")
    assert answer.returncode == pytest.ExitCode.USAGE_ERROR
    assert "m9-1gb" in answer.stderr


def test_a_run_that_is_recorded_already_is_reported_by_who_began_it(suite, tmp_path):
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    text = f"import os\ndef test_it():\n    assert os.environ['ANYMPS_RUN'] == {str(recorded)!r}\n"
    answer = suite("--mps-mac", "m2-8gb", text=text, ANYMPS_RUN=str(recorded))
    assert answer.returncode == 0, answer.stdout
    assert "mps findings" not in answer.stdout


@pytest.mark.skipif(importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_workers_are_reported_by_who_started_them(suite):
    answer = suite("--mps-mac", "m2-8gb", "--mps-fail-on", "error", "-n", "2")
    assert answer.returncode == 1, answer.stdout
    assert answer.stdout.count("mps findings") == 1
    finding, _ = section(answer)
    assert finding.startswith(FOUND)
