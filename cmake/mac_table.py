"""Turns data/macs into rows of C++ tables, and refuses a figure without a source."""

import pathlib
import sys
from fractions import Fraction

PAGE = 16 << 10  # of macOS on Apple silicon


def rows(path: pathlib.Path) -> list[dict[str, str]]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    names = lines[0].split("\t")
    table = [dict(zip(names, line.split("\t"), strict=True)) for line in lines[1:]]
    if not table:
        sys.exit(f"{path}: no rows")
    return table


class Figures:
    def __init__(self, folder: pathlib.Path) -> None:
        self.sources = rows(folder / "sources.tsv")
        self.known = {source["key"] for source in self.sources}
        self.used: set[str] = set()

    def split(self, cell: str) -> tuple[Fraction, str]:
        value, _, source = cell.partition("@")
        if source not in self.known:
            sys.exit(f"data/macs: {cell} has no source that sources.tsv lists")
        self.used.add(source)
        return Fraction(value), f'"{source}"'


def figure(value: Fraction, source: str) -> str:
    number = str(value.numerator) if value.denominator == 1 else repr(float(value))
    return f"{{{number}, {source}}}"


def working_set(memory: int, share: Fraction, source: str) -> str:
    return figure(Fraction(-(-memory * share // PAGE) * PAGE), source)


def main(folder: str, target: str) -> None:
    data = pathlib.Path(folder)
    figures = Figures(data)
    shares = {row["memory_gb"]: row for row in rows(data / "working_sets.tsv")}
    out = ["constexpr SizeShare kSizeShares[] = {"]
    for size, row in shares.items():
        before, from_26 = (figures.split(row[column])[0] for column in ("before_macos_26", "from_macos_26"))
        out.append(
            f"    {{{int(size) << 30}U, {before.numerator}, {before.denominator}, "
            f"{from_26.numerator}, {from_26.denominator}}},"
        )
    out += ["};", "constexpr MacProfile kMacs[] = {"]
    for row in rows(data / "macs.tsv"):
        gigabytes, memory_source = figures.split(row["memory_gb"])
        memory = int(gigabytes) << 30
        share = shares[str(gigabytes)]
        cells = [
            f'"{row["chip"]}-{gigabytes}gb"',
            f'"{row["device"]}"',
            figure(Fraction(memory), memory_source),
            figure(*figures.split(row["cores"])),
            figure(*figures.split(row["fewest"])),
            *(
                figure(value * scale, source)
                for scale, (value, source) in (
                    (10**9, figures.split(row["bandwidth"])),
                    (10**12, figures.split(row["tflops"])),
                )
            ),
            figure(*figures.split(row["macos"])),
            figure(*figures.split(row["to_macos"])),
            working_set(memory, *figures.split(share["before_macos_26"])),
            working_set(memory, *figures.split(share["from_macos_26"])),
        ]
        out.append("    {" + ", ".join(cells) + "},")
    out += ["};", "constexpr MacSource kSources[] = {"]
    for source in figures.sources:
        if source["key"] not in figures.used:
            sys.exit(f"data/macs/sources.tsv: no figure refers to {source['key']}")
        out.append("    {" + ", ".join(f'"{source[name]}"' for name in ("key", "kind", "says", "where")) + "},")
    pathlib.Path(target).write_text("\n".join([*out, "};"]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
