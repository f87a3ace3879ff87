"""The table of outcomes: one sorted line per pair, so that two runs compare with diff."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import classify
from expectations import Pair

HEADER = "op\tvariant\tdtype\tdirection\toutcome\tdetail"


@dataclasses.dataclass(frozen=True)
class Row:
    pair: Pair
    outcome: str
    how: str = ""
    detail: str = ""


def write(path: Path, rows: list[Row], with_detail: bool = False) -> None:
    lines = [HEADER]
    for row in sorted(rows, key=lambda r: dataclasses.astuple(r.pair)):
        # Messages of bad outcomes carry numbers that vary; reasons of skips and expected failures do not.
        detail = "" if row.outcome in classify.BAD and not with_detail else row.detail
        lines.append(f"{row.pair.id}\t{row.outcome}\t{detail}".replace("\r", " "))
    path.write_text("\n".join(lines) + "\n")


def read(path: Path) -> dict[Pair, str]:
    lines = path.read_text().splitlines()
    if not lines or lines[0] != HEADER:
        raise ValueError(f"{path} is not a table of outcomes: its first line is not {HEADER!r}")
    rows = (line.split("\t") for line in lines[1:])
    return {Pair(*row[:4]): row[4] for row in rows}


def worse(before: dict[Pair, str], rows: list[Row]) -> list[str]:
    """What was good and is not any more. A skip is not good: a pair that is no longer compared has got worse."""
    return [
        f"{row.pair.id}: {before[row.pair]} -> {row.outcome} ({row.detail})".replace("\t", " ")
        for row in rows
        if before.get(row.pair) in classify.GOOD and row.outcome not in classify.GOOD
    ]


def agreement(rows: list[Row]) -> tuple[int, int]:
    counted = [row for row in rows if row.outcome not in classify.NOT_COUNTED]
    return sum(row.outcome in classify.GOOD for row in counted), len(counted)


def gist(detail: str) -> str:
    """The part of a message that is the same for the same cause."""
    return re.sub(r"\d[\d.e+-]*", "#", re.sub(r"^.*?sample \d+[^:]*: ", "", detail))[:120]


def short_names(rows: list[Row]) -> list[str]:
    """One word per operator and direction, with its dtypes."""
    dtypes: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        name = row.pair.op + (f".{row.pair.variant}" if row.pair.variant else "")
        dtypes.setdefault((name, row.pair.direction), []).append(row.pair.dtype)
    mark = {"forward": "", "gradient": " grad", "errors": " errors"}
    return [f"{name}{mark[direction]}[{' '.join(found)}]" for (name, direction), found in dtypes.items()]
