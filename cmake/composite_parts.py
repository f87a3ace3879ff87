"""Turns data/coverage/composites.tsv into rows of a C++ table."""

import pathlib
import sys


def main(source: str, target: str) -> None:
    lines = [line for line in pathlib.Path(source).read_text().splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines[1:]]
    if any(len(row) != 3 or row[2] not in ("all", "some") for row in rows):
        sys.exit(f"{source}: a row is not an operator, a part, and all or some")
    text = "".join(f'{{"{name}", "{part}", {str(calls == "all").lower()}}},\n' for name, part, calls in rows)
    pathlib.Path(target).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
