"""What other people's tools read: GitHub's action, and the hook of pre-commit."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"

FAULTY = """
import torch
print(torch.linalg.eigh(torch.eye(3, device="mps")).eigenvalues.sum().item())
"""


@pytest.fixture(scope="session")
def known_options(anymps) -> set[str]:
    text = subprocess.run([anymps, "check", "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"--[a-z][a-z-]*", text.partition("Options:")[2]))


@pytest.fixture(scope="session")
def action() -> dict:
    return yaml.safe_load(ACTION.read_text())


def step(action: dict, name: str) -> dict:
    return next(entry for entry in action["runs"]["steps"] if entry["name"] == name)


def test_the_action_knows_the_options(action, known_options):
    used = set(re.findall(r"(?<=\()--[a-z-]+|(?<= )--[a-z-]+", step(action, "Check")["run"]))
    assert {"--sarif", "--html", "--fail-on", "--mac", "--as-torch"} <= used
    assert used <= known_options


def test_the_action_uses_what_it_asks_for(action):
    text = ACTION.read_text()
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(action["inputs"])
    assert list(action["inputs"])[:5] == ["command", "mac", "as-torch", "fail-on", "python"]
    assert list(action["inputs"])[5:] == ["version", "index-url", "wheel"]
    assert action["runs"]["using"] == "composite"
    for entry in action["runs"]["steps"]:
        # An input inside of a script could be read as a part of it.
        assert "${{" not in entry.get("run", "")
        assert ("run" in entry) == ("shell" in entry)


def test_the_action_reports_before_it_fails(action):
    names = [entry["name"] for entry in action["runs"]["steps"]]
    assert names[-1] == "Fail where something was found"
    uploads = [entry for entry in action["runs"]["steps"] if "uses" in entry]
    assert [entry["uses"].split("@")[0] for entry in uploads] == [
        "github/codeql-action/upload-sarif",
        "actions/upload-artifact",
    ]
    assert all("!cancelled()" in entry["if"] for entry in uploads)


@pytest.mark.parametrize(
    ("command", "fail_on", "status"),
    [("faulty.py 'an argument'", "warning", 1), ("faulty.py", "never", 0), ("missing.py", "warning", 2)],
)
def test_the_action_checks(action, tmp_path, command, fail_on, status):
    (tmp_path / "faulty.py").write_text(FAULTY)
    variables = {
        "PYTHON": sys.executable,
        "COMMAND": command,
        "MAC": "m2-8gb",
        "AS_TORCH": "",
        "FAIL_ON": fail_on,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    # As GitHub calls it.
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(action, "Check")["run"]]
    subprocess.run(bash, env=os.environ | variables, cwd=tmp_path, check=True, timeout=120)
    output = dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())
    assert output["status"] == str(status)
    if "reported" in output:
        assert (tmp_path / "anymps" / "anymps.sarif").exists()
        assert (tmp_path / "anymps" / "anymps.html").exists()
    assert status == 2 or "reported" in output
    ending = ["bash", "-e", "-c", step(action, "Fail where something was found")["run"]]
    assert subprocess.run(ending, env=os.environ | {"STATUS": output["status"]}).returncode == status


@pytest.mark.parametrize(
    ("inputs", "asked"),
    [
        ({}, "--no-deps --only-binary anymps anymps"),
        ({"VERSION": "0.1.0"}, "--no-deps --only-binary anymps anymps==0.1.0"),
        ({"INDEX_URL": "https://a/simple"}, "--no-deps --only-binary anymps --index-url https://a/simple anymps"),
        ({"VERSION": "0.1.0", "WHEEL": "a b.whl"}, "--no-deps --only-binary anymps a b.whl"),
    ],
)
def test_the_action_installs_a_wheel(action, tmp_path, inputs, asked):
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    variables = {"PYTHON": str(python), "VERSION": "", "INDEX_URL": "", "WHEEL": ""} | inputs
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(action, "Install anymps")["run"]]
    said = subprocess.run(bash, env=os.environ | variables, check=True, capture_output=True, text=True).stdout
    assert said == f"-m pip install {asked}\n"


def test_the_hook_calls_a_command_that_exists(known_options):
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert hook["id"] == "anymps-check"
    assert hook["entry"] == "anymps check"
    assert (hook["language"], hook["pass_filenames"]) == ("system", False)
    assert set(re.findall(r"(?<=\[)--[a-z-]+|(?<= )--[a-z][a-z-]*", HOOKS.read_text())) <= known_options | {
        "--steps",
        "--help",
    }
