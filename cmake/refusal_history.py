"""Turns data/refusals.txt into rows of a C++ table: what which release refuses, as the file has it."""

import json
import pathlib
import sys


def row(line: str) -> str:
    operators, when, exception, text, *releases = (field.strip() for field in line.split("|"))
    first, _, last = (part.strip() for part in (releases[0] if releases else "").partition("-"))
    return "{" + ", ".join(map(json.dumps, (operators, when, exception, text, first, last))) + "},\n"


def main(source: str, target: str) -> None:
    lines = pathlib.Path(source).read_text().splitlines()
    pathlib.Path(target).write_text("".join(row(line) for line in lines if line.strip() and not line.startswith("#")))


if __name__ == "__main__":
    main(*sys.argv[1:])
