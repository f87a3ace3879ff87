"""Styles and scripts of the pages: what a browser would pass over in silence. `make lint` runs this, too."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ASSETS = sorted((Path(__file__).parents[2] / "src/lab/html/assets").iterdir())
SCRIPTS = [path for path in ASSETS if path.suffix == ".js"]
STYLES = [path for path in ASSETS if path.suffix == ".css"]
CLOSES = {"{": "}", "(": ")", "[": "]"}


def bracket_fault(style: str) -> str | None:
    """Of a style, the first bracket that closes another one, or none, or stays open."""
    quiet = re.sub(
        r"/\*.*?\*/|\"[^\"\n]*\"|'[^'\n]*'", lambda found: re.sub(r"[^\n]", " ", found[0]), style, flags=re.S
    )
    waiting: list[tuple[str, int]] = []
    for number, line in enumerate(quiet.splitlines(), 1):
        for letter in line:
            if letter in CLOSES:
                waiting.append((CLOSES[letter], number))
            elif letter in CLOSES.values() and (not waiting or waiting.pop()[0] != letter):
                return f"line {number}: {letter} closes nothing"
    return f"line {waiting[-1][1]}: no {waiting[-1][0]}" if waiting else None


def test_every_asset_is_looked_at():
    assert SCRIPTS and STYLES and {*SCRIPTS, *STYLES} == {*ASSETS}


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_brackets_of_a_style_close(path):
    assert bracket_fault(path.read_text()) is None


@pytest.mark.parametrize(
    ("style", "fault"),
    [
        ("a { b: c(1); }\n", None),
        ('a::after { content: "}"; } /* { */\n', None),
        ("a { b: c; \n}\n}\n", "line 3: } closes nothing"),
        ("a { b: c(1; }\n", "line 1: } closes nothing"),
        ("\na { b: c;\n", "line 2: no }"),
    ],
)
def test_a_bracket_that_does_not_close_is_found(style, fault):
    assert bracket_fault(style) == fault


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_javascript(path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node to read it")
    checked = subprocess.run([node, "--check", path], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("path", ASSETS, ids=lambda path: path.name)
def test_an_asset_ends_neither_its_tag_nor_without_a_new_line(path):
    text = path.read_text()
    assert "</" not in text
    assert text.endswith("\n") and not re.search(r"[ \t]$", text, re.M)
