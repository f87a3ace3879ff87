"""Verbs, options and refusals: what a person who types a wrong thing gets to read."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def test_help_teaches_by_example(call):
    answer = call("--help")
    assert answer.returncode == 0
    for verb in ("run", "env", "cache", "completion"):
        assert f"\n  {verb} " in answer.stdout
    assert "anymps run train.py" in answer.stdout
    assert "[--] COMMAND" in call("run", "--help").stdout


def test_without_a_verb_it_helps_but_fails(call):
    answer = call()
    assert answer.returncode == 2
    assert "Usage: anymps" in answer.stdout


def test_version(call):
    answer = call("--version")
    assert answer.returncode == 0
    assert answer.stdout.startswith("anymps ")
    assert "unknown" not in answer.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["rnu", "train.py"], "`run`"),
        (["cash"], "`cache`"),
        (["cache", "cler"], "`clear`"),
        (["cache"], "info, trim, clear"),
        (["train.py"], "anymps run train.py"),
        (["run"], "nothing to run"),
        (["run", "--bogus", "train.py"], "--bogus"),
        (["run", "--mca", "m2-8gb", "train.py"], "unknown option --mca; the nearest is --mac"),
        (["check", "--fail-no=note", "train.py"], "the nearest is --fail-on"),
        (["metal", "list", "--jsno", "x"], "--jsno"),
        (["check", "nosuch.py"], "there is no file nosuch.py"),
        (["run", "python", "no/such.ipynb"], "there is no file no/such.ipynb"),
        (["run", "--versus"], "--versus"),
        (["run", "--versus", "'open", "true"], "never closed"),
        (["run", "--json", "/no/such/folder/x.json", "true"], "/no/such/folder/x.json"),
        (["env", "surplus"], "surplus"),
        (["--bogus"], "--bogus"),
    ],
)
def test_a_mistake_gets_one_line_and_status_2(call, words, expected):
    answer = call(*words)
    assert answer.returncode == 2
    assert expected in answer.stderr
    assert answer.stderr.startswith("anymps: error: ")
    assert answer.stderr.count("\n") == 1
    assert answer.stdout == ""


VERBS = (
    "run check size sweep profile plateau parity decide doctor log report handoff trace metal coverage macs env cache"
)


@pytest.mark.parametrize("verb", VERBS.split())
def test_the_help_of_every_verb_shows_its_examples(call, verb):
    text = call(verb, "--help").stdout
    assert f"\n  anymps {verb}" in text
    for stray in ("{false}", "{true}", ":{"):
        assert stray not in text


def helps(call, *words):
    """The help of a verb and of all verbs below it, as (words, text)."""
    text = call(*words, "--help").stdout
    yield words, text
    for verb in re.findall(r"^  (\S+)", text.partition("\nVerbs:\n")[2].partition("\n\n")[0], re.MULTILINE):
        yield from helps(call, *words, verb)


def test_no_help_shows_the_parsers_own_names(call):
    """Neither how it checks a value (SECONDS:POSITIVE, in [0 - 1]) nor its types; and what is required is said once."""
    told = dict(helps(call))
    assert ("handoff", "smoke") in told and ("sr", "train") in told
    own_names = r"\b(REQUIRED|INT|UINT|FLOAT|POSITIVE|NONNEGATIVE)\b"
    strays = re.compile(rf"\S:[A-Z]{{3}}|\bin \[\S+ - |{own_names}|required.*required")
    options = r"^  +(?!anymps)\S.*$"
    found = [(*words, line) for words, text in told.items() for line in re.findall(options, text, re.MULTILINE)]
    assert [line for line in found if strays.search(line[-1])] == []


def test_units_are_written_in_one_way():
    """22% without a space, and µs."""
    odd = re.compile(r'\{[^{}"]*\} (%|us\b)|[0-9] %[ ",.;)]|" %"')
    files = [file for room in ("lab", "cli", "superres") for file in (ROOT / "src" / room).rglob("*.cpp")]
    assert len(files) > 100
    assert [(file.name, found[0]) for file in files if (found := odd.search(file.read_text()))] == []


def test_an_unknown_macos_is_told(call):
    answer = call("run", "--macos", "99", "true")
    assert answer.returncode == 0
    assert "macOS 99.0 is not known here; the newest is 26, and its figures are used" in answer.stderr


def test_a_program_that_is_not_there(call):
    answer = call("run", "no-such-program")
    assert answer.returncode == 127
    assert "no-such-program" in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--quiet", "printf", "%s,", "--json", "a b", "--", "-m"],
        ["run", "--quiet", "--", "printf", "%s,", "--json", "a b", "--", "-m"],
        ["run", "--versus=", "--quiet", "printf", "%s,", "--json", "a b", "--", "-m"],
    ],
)
def test_the_command_gets_its_words_untouched(call, words):
    assert call(*words).stdout == "--json,a b,--,-m,"


def test_a_script_and_a_module_get_the_environments_python(call, tmp_path):
    (tmp_path / "tell.py").write_text("import sys; print(sys.prefix, *sys.argv[1:])")
    script = call("run", "--quiet", "tell.py", "--x")
    module = call("run", "--quiet", "-m", "tell", "--x")
    assert script.stdout == module.stdout == f"{sys.prefix} --x\n"


def test_a_link_in_an_environment_finds_its_python(anymps, environment, tmp_path):
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text('#!/bin/sh\necho "this one: $1"\n')
    python.chmod(0o755)
    original = tmp_path / "elsewhere" / "anymps"
    original.parent.mkdir()
    shutil.copy(anymps, original)
    (tmp_path / "bin" / "anymps").symlink_to(original)
    del environment["VIRTUAL_ENV"]
    (tmp_path / "x.py").touch()
    command = [str(tmp_path / "bin" / "anymps"), "run", "--quiet", "x.py"]
    finished = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert finished.stdout == "this one: x.py\n"
