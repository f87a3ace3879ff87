"""Turns data/known_failures/*.tsv into rows of a C++ table, sorted by release and operator."""

import pathlib
import re
import sys

OUTCOMES = ("refuses", "differs", "fails", "undefined", "untested")
WHEN = re.compile(r"(forward|backward)(?: before macOS (\d+)\.(\d+))?")


def cpp_row(release: str, operator: str, variant: str, dtypes: str, when: str, outcome: str, reason: str) -> str:
    found = WHEN.fullmatch(when)
    if not found or outcome not in OUTCOMES:
        sys.exit(f"{operator}: {when!r} or {outcome!r} is no such word")
    before = f"MacosVersion{{{found[2]}, {found[3]}}}" if found[2] else "std::nullopt"
    quoted = reason.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'{{"{release}", "{operator}", "{variant}", "{dtypes}", FailurePass::k{found[1].title()}, {before}, '
        f'FailureOutcome::k{outcome.title()}, "{quoted}"}},\n'
    )


def rows(table: pathlib.Path) -> list[str]:
    lines = [line for line in table.read_text().splitlines() if not line.startswith("#")]
    cells = [["" if cell == "-" else cell for cell in line.split("\t")] for line in lines[1:]]
    # In the order in which C++ compares strings, by bytes.
    cells.sort(key=lambda row: row[0].encode())
    return [cpp_row(release_of(table), *row) for row in cells]


def release_of(table: pathlib.Path) -> str:
    return table.stem.removeprefix("torch")


def main(target: str, *tables: str) -> None:
    in_order = sorted(map(pathlib.Path, tables), key=lambda table: [int(part) for part in release_of(table).split(".")])
    pathlib.Path(target).write_text("".join(row for table in in_order for row in rows(table)))


if __name__ == "__main__":
    main(*sys.argv[1:])
