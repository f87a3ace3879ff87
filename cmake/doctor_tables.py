"""doctor_tables.py FOLDER THRESHOLDS VARIABLES: data/doctor as constants and rows of C++."""

import json
import pathlib
import sys


def rows_of(file: pathlib.Path, columns: int) -> list[list[str]]:
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    rows = [(at, line.split("\t")) for at, line in lines if not line.startswith("#")]
    for at, row in rows:
        if len(row) != columns:
            sys.exit(f"{file}:{at}: {len(row)} columns, where there are {columns}")
    return [row for _, row in rows]


def constant(name: str, value: str, unit: str, why: str) -> str:
    words = "".join(word.title() for word in name.split("_"))
    if unit == "version":
        major, minor = (int(number) for number in value.split("."))
        return f"constexpr Version k{words}{{{major}, {minor}}};  // {why}\n"
    if unit == "GiB":
        return f"constexpr std::uint64_t k{words} = std::uint64_t{{{int(value)}}} << 30;  // {why}\n"
    kind = "std::uint64_t" if unit == "count" and value.isdecimal() else "double"
    return f"constexpr {kind} k{words} = {int(value) if kind != 'double' else float(value)};  // {why}\n"


def main(folder: str, thresholds: str, variables: str) -> None:
    data = pathlib.Path(folder)
    constants = [constant(*row) for row in rows_of(data / "thresholds.tsv", 4)]
    pathlib.Path(thresholds).write_text("".join(constants), encoding="utf-8")
    told = ["{" + ", ".join(map(json.dumps, row)) + "},\n" for row in rows_of(data / "variables.tsv", 3)]
    pathlib.Path(variables).write_text("".join(told), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
