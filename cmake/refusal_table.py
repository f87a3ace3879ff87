"""Turns data/refusals.txt into rows of a C++ table.

python refusal_table.py data/refusals.txt table.inc              for the device, sorted by operator
python refusal_table.py data/refusals.txt history.inc --history  what which release refuses, as the file has it
"""

import json
import pathlib
import re
import sys

GROUPS = {
    "floating": ["Float", "Half", "BFloat16"],
    "integral": ["Byte", "Char", "Short", "Int", "Long", "UInt16", "UInt32", "UInt64"],
    "complex": ["ComplexFloat", "ComplexHalf"],
    "bool": ["Bool"],
    "float32": ["Float"],
    "float16": ["Half"],
    "bfloat16": ["BFloat16"],
    "uint8": ["Byte"],
    "int8": ["Char"],
    "int16": ["Short"],
    "int32": ["Int"],
    "int64": ["Long"],
    "float8": ["Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2", "Float8_e5m2fnuz"],
    "complex32": ["ComplexHalf"],
    "complex64": ["ComplexFloat"],
}
ALL = GROUPS["floating"] + GROUPS["integral"] + GROUPS["complex"] + GROUPS["bool"]
EXCEPTIONS = {
    "RuntimeError": "kRuntimeError",
    "NotImplementedError": "kNotImplementedError",
    "TypeError": "kTypeError",
    "ValueError": "kValueError",
    "alert": "kDeterminismAlert",
}


def dtype_names(text: str) -> list[str]:
    excluded = text.startswith("not ")
    named = [name for word in text.removeprefix("not ").split(",") for name in GROUPS[word.strip()]]
    return [name for name in ALL if name not in named] if excluded else named


def condition(text: str) -> tuple[str, str]:
    """The row's subject, and its fields argument, dtypes and predicate."""
    if predicate := re.fullmatch(r"\[(\w+)\]", text):
        return "kCall", f'"", 0, &predicates::{predicate[1]}'
    argument, what = (part.strip() for part in text.split(":"))
    if what == "on cpu":
        return "kDevice", f'"{argument}", 0, nullptr'
    mask = " | ".join(f"bit(ScalarType::{name})" for name in dtype_names(what))
    return "kDtype", f'"{argument}", {mask}, nullptr'


def number(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def is_of(releases: str, release: str) -> bool:
    first, _, last = (part.strip() for part in releases.partition("-"))
    return (not first or number(first) <= number(release)) and (not last or number(release) <= number(last))


def coded(release: str, otherwise: int) -> int:
    """As torch_release.h compares releases: 213 is 2.13."""
    major, minor = number(release) if release else divmod(otherwise, 100)
    return 100 * major + minor


def entries(source: str, release: str | None = None) -> list[tuple[str, ...]]:
    """Operators, condition, exception, text, and the first and last release, empty where the file names none.

    All that there are, or those of one release.
    """
    found = []
    for line in pathlib.Path(source).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        operators, when, exception, text, *releases = (field.strip() for field in line.split("|"))
        if release and releases and not is_of(releases[0], release):
            continue
        first, _, last = (part.strip() for part in (releases[0] if releases else "").partition("-"))
        found.append((operators, when, exception, text, first, last))
    return found


def rows(source: str) -> list[str]:
    found = []
    for operators, when, exception, text, first, last in entries(source):
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        subject, fields = condition(when)
        for operator in operators.split(","):
            name, _, overload = operator.strip().partition(".")
            head = f'"{name}", "{overload or "*"}", Subject::{subject}, RefusalKind::{EXCEPTIONS[exception]}'
            of = f"{coded(first, 0)}, {coded(last, 9999)}"
            found.append((name, f'{{{head}, {fields}, "{quoted}", {of}}},'))
    # Stable: of an operator's rows the first that applies is the one that refuses.
    return [row for _, row in sorted(found, key=lambda item: item[0])]


def history(source: str) -> list[str]:
    return ["{" + ", ".join(map(json.dumps, entry)) + "}," for entry in entries(source)]


if __name__ == "__main__":
    source, target, *options = sys.argv[1:]
    made = history(source) if options == ["--history"] else rows(source)
    pathlib.Path(target).write_text("\n".join(made) + "\n")
