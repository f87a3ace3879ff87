"""Cuts the code out of the guides: texts about PyTorch on Macs, which are no part of this repository."""

from __future__ import annotations

import ast
import pathlib
import re
import textwrap
from dataclasses import dataclass

# How many blocks each guide has. A rule that finds fewer has missed some.
COUNTS = {0: 0, 1: 13, 2: 0, 3: 12, 4: 20}

FENCED = re.compile(r"^(?P<margin>[ \t]*)```(?P<language>\w*)\n(?P<text>.*?)^(?P=margin)```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(conda|pip|export|python) ")


@dataclass(frozen=True)
class Block:
    guide: int
    number: int
    language: str
    text: str


def fenced(text: str) -> list[tuple[str, str]]:
    return [(found["language"], textwrap.dedent(found["text"])) for found in FENCED.finditer(text)]


def _is_heading(line: str) -> bool:
    """One word at the margin: as Python it would be an expression that joins the blocks around it."""
    return line.strip().isidentifier() and line[0] != " "


def _is_code(text: str) -> bool:
    try:
        return bool(ast.parse(text).body)
    except SyntaxError:
        return False


def unfenced(text: str) -> list[tuple[str, str]]:
    """Where nothing marks the code: from a line at the margin on, as many lines as are Python together.

    English is not Python, and neither is a heading of two words. Commands of a shell, which begin with a command's
    name, are blocks too, with the comments and empty lines between them.
    """
    lines = text.splitlines()
    found = []
    begin = 0
    while begin < len(lines):
        end = begin + 1
        if COMMAND.match(lines[begin]):
            while end < len(lines) and (COMMAND.match(lines[end]) or lines[end].startswith("#") or not lines[end]):
                end += 1
            found.append(("sh", "\n".join(lines[begin:end])))
        elif lines[begin].strip() and not lines[begin].startswith(" ") and not _is_heading(lines[begin]):
            last = next((i for i in range(begin, len(lines)) if _is_heading(lines[i] or " ")), len(lines))
            ends = (i for i in range(last, begin, -1) if lines[i - 1].strip() and _is_code("\n".join(lines[begin:i])))
            if longest := next(ends, None):
                end = longest
                found.append(("python", "\n".join(lines[begin:end])))
        begin = end
    return found


def read(folder: pathlib.Path) -> dict[int, str]:
    """The texts by number, which their files' names begin with; none where there is no such folder."""
    return {int(path.name.split("_")[0]): path.read_text() for path in sorted(folder.glob("[0-9]*_*.txt"))}


def blocks(guide: int, text: str) -> list[Block]:
    cut = fenced(text) if "```" in text else unfenced(text)
    return [Block(guide, number, language, code) for number, (language, code) in enumerate(cut, 1)]
