"""Turns a coverage list (data/coverage/*.txt) into rows of a C++ table."""

import pathlib
import sys


def main(source: str, target: str) -> None:
    rows = []
    for line in pathlib.Path(source).read_text().splitlines():
        if line and not line.startswith("#"):
            key, operator, check = line.split()
            rows.append(f'{{DispatchKey::{key}, "{operator}", DeviceCheck::k{check.capitalize()}}},')
    pathlib.Path(target).write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
