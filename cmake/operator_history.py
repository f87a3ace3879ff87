"""Turns data/coverage/history.txt into rows of C++ tables: the releases, and each operator's routes."""

import pathlib
import sys


def main(source: str, releases_target: str, rows_target: str) -> None:
    lines = [line for line in pathlib.Path(source).read_text().splitlines() if not line.startswith("#")]
    releases, commits = (line.split()[1:] for line in lines[:2])
    rows = [line.split() for line in lines[2:]]
    if any(len(routes) != len(releases) for _, routes in rows):
        sys.exit(f"{source}: a row has not one route for each release")
    # In the order in which C++ compares strings, by bytes.
    rows.sort(key=lambda row: row[0].encode())
    pathlib.Path(releases_target).write_text(
        "".join(f'{{"{release}", "{commit}"}},\n' for release, commit in zip(releases, commits, strict=True))
    )
    pathlib.Path(rows_target).write_text("".join(f'{{"{name}", "{routes}"}},\n' for name, routes in rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
