"""The scripts come from the command tree, so whatever --help lists, they must offer."""

import re
import shutil
import subprocess

import pytest

SHELLS = ("bash", "zsh", "fish")
VERBS = [
    *[(), ("run",), ("check",), ("size",), ("macs",), ("env",), ("cache",), ("completion",)],
    *[("metal",), ("metal", "list"), ("metal", "run"), ("metal", "check"), ("metal", "compile")],
]


def words_in_help(call, *verbs) -> set[str]:
    text = call(*verbs, "--help").stdout.split("Examples:")[0]
    options = set(re.findall(r"--[a-z][a-z-]*", "".join(re.findall(r"^  -.*?(?:  |$)", text, re.MULTILINE))))
    listed = text.split("Verbs:")[1] if "Verbs:" in text else ""
    return options | set(re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE))


def complete_in_bash(call, line: list[str], cwd) -> set[str]:
    script = call("completion", "bash").stdout
    words = " ".join(f"'{word}'" for word in line)
    script += f"COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _anymps; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=cwd, check=True)
    assert answer.stderr == ""
    return set(answer.stdout.split())


@pytest.mark.parametrize("verbs", VERBS)
def test_bash_offers_what_help_lists(call, tmp_path, verbs):
    expected = words_in_help(call, *verbs)
    assert expected
    offered = complete_in_bash(call, ["anymps", *verbs, "-"], tmp_path)
    offered |= complete_in_bash(call, ["anymps", *verbs, ""], tmp_path)
    assert expected <= offered


def test_bash_offers_files_where_a_file_is_meant(call, tmp_path):
    (tmp_path / "train.py").touch()
    (tmp_path / "runs").mkdir()
    assert complete_in_bash(call, ["anymps", "run", ""], tmp_path) == {"train.py", "runs", "tmp"}
    assert complete_in_bash(call, ["anymps", "run", "--json", "tr"], tmp_path) == {"train.py"}
    assert complete_in_bash(call, ["anymps", "metal", "list", "tr"], tmp_path) == {"train.py"}
    assert complete_in_bash(call, ["anymps", "run", "--keep", ""], tmp_path) == {"runs", "tmp"}
    assert complete_in_bash(call, ["anymps", "run", "--versus", ""], tmp_path) == set()
    assert complete_in_bash(call, ["anymps", "ca"], tmp_path) == {"cache"}
    assert complete_in_bash(call, ["anymps", "run", "--mac", "m1-"], tmp_path) == {"m1-8gb", "m1-16gb"}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_names_every_word(call, shell):
    script = call("completion", shell).stdout
    for verbs in VERBS:
        for word in words_in_help(call, *verbs):
            assert re.search(rf"\b{word.lstrip('-')}\b", script), word


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_is_valid_for_its_shell(call, shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    path = tmp_path / "script"
    path.write_text(call("completion", shell).stdout)
    subprocess.run([program, "-n", str(path)], check=True)
