"""Turns data/known_failures/*.tsv into rows of a C++ table, sorted by operator."""

import pathlib
import re
import sys

OUTCOMES = ("refuses", "differs", "fails", "undefined", "untested")
WHEN = re.compile(r"(forward|backward)(?: before macOS (\d+)\.(\d+))?")


def cpp_row(operator: str, variant: str, dtypes: str, when: str, outcome: str, reason: str) -> str:
    found = WHEN.fullmatch(when)
    if not found or outcome not in OUTCOMES:
        sys.exit(f"{operator}: {when!r} or {outcome!r} is no such word")
    before = f"MacosVersion{{{found[2]}, {found[3]}}}" if found[2] else "std::nullopt"
    quoted = reason.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'{{"{operator}", "{variant}", "{dtypes}", FailurePass::k{found[1].title()}, {before}, '
        f'FailureOutcome::k{outcome.title()}, "{quoted}"}},\n'
    )


def main(source: str, target: str) -> None:
    lines = [line for line in pathlib.Path(source).read_text().splitlines() if not line.startswith("#")]
    rows = [["" if cell == "-" else cell for cell in line.split("\t")] for line in lines[1:]]
    # In the order in which C++ compares strings, by bytes.
    rows.sort(key=lambda row: row[0].encode())
    pathlib.Path(target).write_text("".join(cpp_row(*row) for row in rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
