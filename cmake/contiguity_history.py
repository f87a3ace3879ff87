"""Turns data/contiguity.tsv into rows of a C++ table, sorted by operator."""

import pathlib
import re
import sys

ARGUMENT = re.compile(r"(input|output)(?::(\w+))?")
LAYOUTS = {"any": "kAny", "channels_last": "kChannelsLast", "not_channels_last": "kNotChannelsLast"}
RELEASE = re.compile(r"\d+\.\d+\.\d+")
MACOS = re.compile(r"-|(before|from) (\d+)\.(\d+)")


def cpp_row(
    operator: str, argument: str, layout: str, issue: str, since: str, mended: str, macos: str, fault: str
) -> str:
    found, on = ARGUMENT.fullmatch(argument), MACOS.fullmatch(macos)
    if not (found and on and layout in LAYOUTS and issue.isdecimal()):
        sys.exit(f"{operator}: {argument!r}, {layout!r}, {issue!r} or {macos!r} is not of the table's form")
    if not (RELEASE.fullmatch(since) or since == "-") or not (RELEASE.fullmatch(mended) or mended == "open"):
        sys.exit(f"{operator}: {since!r} or {mended!r} is no release")
    version = f"MacosVersion{{{on[2]}, {on[3]}}}"
    limits = [version if on[1] == word else "std::nullopt" for word in ("from", "before")]
    cells = [
        f'"{operator}"',
        f"StridedArgument::k{found[1].title()}",
        f'"{found[2] or ""}"',
        f"StridedLayout::{LAYOUTS[layout]}",
        issue,
        f'"{since.strip("-")}"',
        f'"{mended}"',
        *limits,
        f'"{fault}"',
    ]
    return "{" + ", ".join(cells) + "},\n"


def main(source: str, target: str) -> None:
    lines = [line for line in pathlib.Path(source).read_text().splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines[1:]]
    # In the order in which C++ compares strings, by bytes.
    rows.sort(key=lambda row: row[0].encode())
    pathlib.Path(target).write_text("".join(cpp_row(*row) for row in rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
