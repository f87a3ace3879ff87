"""The table of what the kernels gave: one sorted line per kernel, so that two runs compare with diff.

`worst` and `digest` belong to the kind of machine that the header names, the verdict does not: torch.randn, which makes
inputs, gives other bits on other vector units, and so do some of the C library's functions.

A release of PyTorch has a table of its own, outcomes-RELEASE.tsv. Of a kernel whose bitcode is that of an earlier
release's, which was checked there, it says "as RELEASE".
"""

import collections
import dataclasses
import pathlib
import platform
import re

from names import elementwise, family_of

HEADER = "kernel\tfamily\tverdict\tchecks\tworst\tdigest on "
SAMENESS_HEADER = "kernel\tfamily\toutcome"
GOOD = ("equal", "close")
AS = "as "
SAMENESS = ("same", "differs", "not compiled")


@dataclasses.dataclass(frozen=True)
class Row:
    kernel: str
    verdict: str  # the harness's, or "refused", "error" (of the checker), "crash", "hang", "memory", "as RELEASE"
    checks: int = 0
    worst: float = 0.0
    digest: str = ""
    detail: str = ""  # not in the table: it carries numbers that vary


def is_good(row: Row) -> bool:
    return row.verdict in GOOD or row.verdict.startswith(AS)


def write(path: pathlib.Path, rows: list[Row]) -> None:
    lines = (
        f"{row.kernel}\t{family_of(row.kernel)}\t{row.verdict}\t{row.checks}\t{row.worst:.3g}\t{row.digest}"
        for row in sorted(rows, key=lambda row: row.kernel)
    )
    path.write_text("\n".join([HEADER + platform.machine(), *lines]) + "\n")


def lines_of(path: pathlib.Path) -> list[str]:
    lines = path.read_text().splitlines()
    if not lines or not lines[0].startswith(HEADER):
        raise ValueError(f"{path} is not a table of kernels: its first line does not begin with {HEADER!r}")
    return lines


def release_of(library: pathlib.Path | None) -> str | None:
    """What a library's name says: torch-RELEASE-N.metallib."""
    named = re.fullmatch(r"torch-(\d+\.\d+)(\.\d+)?-\d+\.metallib", library.name) if library else None
    return named[1] if named else None


def table_of(release: str, beside: pathlib.Path = pathlib.Path(__file__)) -> pathlib.Path:
    return beside.with_name(f"outcomes-{release}.tsv")


def read(path: pathlib.Path, resolved: bool = True) -> dict[str, Row]:
    """The table; if it is resolved, what it calls the same as in an earlier release has the earlier table's row."""
    cells = (line.split("\t") for line in lines_of(path)[1:])
    rows = {kernel: Row(kernel, verdict, int(n), float(w), digest) for kernel, _, verdict, n, w, digest in cells}
    if not resolved:
        return rows
    releases = {row.verdict.removeprefix(AS) for row in rows.values() if row.verdict.startswith(AS)}
    earlier = {AS + release: read(table_of(release, path)) for release in releases}
    return {name: earlier[row.verdict][name] if row.verdict in earlier else row for name, row in rows.items()}


def machine_of(path: pathlib.Path) -> str:
    """The kind of machine whose bits the table has."""
    return lines_of(path)[0].removeprefix(HEADER)


def worse(before: dict[str, Row], rows: list[Row]) -> list[str]:
    """Kernels that were good and are not any more."""
    return [
        f"{row.kernel}: {before[row.kernel].verdict} -> {row.verdict} ({row.detail})"
        for row in rows
        if row.kernel in before and before[row.kernel].verdict in GOOD and not is_good(row)
    ]


def other_outputs(before: dict[str, Row], rows: list[Row]) -> list[str]:
    """Kernels that gave other bits than in the earlier run."""
    ran = [row for row in rows if not row.verdict.startswith(AS)]
    return [row.kernel for row in ran if row.kernel in before and row.digest != before[row.kernel].digest]


def sameness(before: dict[str, Row], rows: list[Row]) -> dict[str, str]:
    """Of each kernel of the earlier run, what a run of the same kernels compiled otherwise gave: one of SAMENESS."""
    now = {row.kernel: row.digest for row in rows if row.verdict != "refused"}
    return {
        name: "not compiled" if name not in now else "same" if now[name] == row.digest else "differs"
        for name, row in before.items()
    }


def write_sameness(path: pathlib.Path, outcomes: dict[str, str]) -> None:
    lines = (f"{name}\t{family_of(name)}\t{outcome}" for name, outcome in sorted(outcomes.items()))
    path.write_text("\n".join([SAMENESS_HEADER, *lines]) + "\n")


def read_sameness(path: pathlib.Path) -> dict[str, str]:
    lines = path.read_text().splitlines()
    return {kernel: outcome for kernel, _, outcome in (line.split("\t") for line in lines[1:])}


def bad_by_family(rows: list[Row]) -> list[str]:
    groups = collections.defaultdict(list)
    for row in rows:
        if not is_good(row):
            groups[family_of(row.kernel), row.verdict].append(row)
    return [
        f"{family}: {len(members)} x {verdict}, such as {members[0].kernel}: {members[0].detail}"
        for (family, verdict), members in sorted(groups.items())
    ]


def summary(rows: list[Row], all_kernels: list[str]) -> list[str]:
    verdicts = collections.Counter(row.verdict for row in rows)
    families = {family_of(row.kernel) for row in rows}
    lines = [", ".join(f"{name} {count}" for name, count in verdicts.most_common()) or "no kernel was run"]
    lines.append(f"families {len(families)} of {len({family_of(name) for name in all_kernels})}")
    for kind, is_kind in (
        ("elementwise", lambda name: elementwise(name) is not None),
        ("other", lambda name: elementwise(name) is None),
    ):
        run = sum(is_kind(row.kernel) for row in rows)
        lines.append(f"{kind} kernels {run} of {sum(map(is_kind, all_kernels))}")
    return lines
