"""The table of outcomes: one line per test, sorted, so that two runs compare with diff."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HEADER = "test\toutcome\tneeds\tdetail"

# How the test file's own decorators say that it ends on a Mac.
AS_ON_A_MAC = ("passed", "expected-failure", "skipped")
# PyTorch expects a Mac to give a wrong number here and we give the right one: neither good nor bad.
RIGHT_WHERE_A_MAC_IS_WRONG = "right-where-mac-is-wrong"
BAD = ("failed", "error", "crash", "timeout", "memory", "unexpected-success")


@dataclass(frozen=True)
class Outcome:
    test: str  # Class.method
    outcome: str
    needs: str = ""  # "shader" when it asks for the shader compiler
    detail: str = ""

    @property
    def good(self) -> bool:
        return self.outcome in AS_ON_A_MAC or self.outcome == RIGHT_WHERE_A_MAC_IS_WRONG


def write(path: Path, outcomes: list[Outcome], with_detail: bool = True) -> None:
    lines = [HEADER]
    for o in sorted(outcomes, key=lambda o: o.test):
        # Details of bad outcomes carry numbers that differ between runs; a committed table leaves them out.
        detail = o.detail if with_detail or o.outcome == "skipped" else ""
        lines.append(f"{o.test}\t{o.outcome}\t{o.needs}\t{detail}".replace("\r", " "))
    path.write_text("\n".join(lines) + "\n")


def read(path: Path) -> dict[str, Outcome]:
    lines = path.read_text().splitlines()
    if not lines or lines[0] != HEADER:
        raise ValueError(f"{path} is not a table of outcomes: its first line is not {HEADER!r}")
    found = (Outcome(*line.split("\t", 3)) for line in lines[1:])
    return {o.test: o for o in found}


def compare(before: dict[str, Outcome], now: list[Outcome]) -> tuple[list[str], list[str]]:
    """(worse, other changes), one line each. A test that is not in `now` was not asked for, and says nothing."""
    worse, changed = [], []
    for o in sorted(now, key=lambda o: o.test):
        old = before.get(o.test)
        if old is None:
            (changed if o.good else worse).append(f"{o.test}: new, {o.outcome}")
        elif old.outcome != o.outcome:
            line = f"{o.test}: {old.outcome} -> {o.outcome}"
            # A skip is not a pass: a test that no longer runs has got worse.
            lost = old.good and (not o.good or (o.outcome == "skipped" and old.outcome != "skipped"))
            (worse if lost else changed).append(line + (f" ({o.detail})" if o.detail else ""))
    return worse, changed
