"""check_rules.py RULES.TSV TARGET: the rules of `anymps check` as rows of a C++ table."""

import json
import pathlib
import sys

SEVERITIES = {"note": "kNote", "warning": "kWarning", "error": "kError"}
UNITS = {"": "kNone", "bytes": "kBytes", "ns": "kNanoseconds"}


def row_of(place: str, line: str) -> str:
    fields = line.split("\t")
    if len(fields) != 7:
        sys.exit(f"{place}: {len(fields)} columns, where there are 7")
    name, severity, strict, unit, *texts = fields
    if not (severity in SEVERITIES and (strict or severity) in SEVERITIES and unit in UNITS):
        sys.exit(f"{place}: a severity or unit that there is none of")
    if not all([name, *texts]):
        sys.exit(f"{place}: an empty text")
    quoted = ", ".join(json.dumps(text, ensure_ascii=False) for text in texts)
    return (
        f"{{{json.dumps(name)}, {SEVERITIES[severity]}, {UNITS[unit]}, {quoted}, {SEVERITIES[strict or severity]}}},\n"
    )


def main(rules: str, target: str) -> None:
    lines = pathlib.Path(rules).read_text(encoding="utf-8").splitlines()
    rows = [row_of(f"{rules}:{at}", line) for at, line in enumerate(lines, 1) if not line.startswith("#")]
    pathlib.Path(target).write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
