"""Writes docs/genuine.md from the committed table of outcomes: which kernels were launched and compared, by family.

python tests/genuine/document.py > docs/genuine.md
"""

import collections
import pathlib

import results
from names import elementwise, family_of

OUTCOMES = pathlib.Path(__file__).with_name("outcomes-2.13.tsv")
HEAD = """# PyTorch's own kernels, checked

PyTorch 2.13's macOS wheel carries a Metal library of 12,998 kernels (in two language levels). Those listed here were
launched as PyTorch's host code launches them and compared with torch on the CPU, dtype by dtype, on ordinary and hard
inputs ([metal.md](metal.md) says how to run it again). A family is a name without its types and sizes; of an
elementwise kernel, of which there are dense, strided, broadcast and converting forms, it is the operator.

*Equal* is to the bit; *close* is within a tolerance that the checker gives a reason for (`tests/genuine/families/`).
Six kernels more, the products with weights of 8 bits, are checked in C++ (`tests/metal/genuine_kernels_test.cpp`).
"""


def listing(title: str, rows: list[results.Row]) -> list[str]:
    families = collections.defaultdict(collections.Counter)
    for row in rows:
        families[family_of(row.kernel)][row.verdict] += 1
    lines = [f"## {title}: {len(rows)} kernels in {len(families)} families", ""]
    others = sorted({verdict for counts in families.values() for verdict in counts} - set(results.GOOD))
    columns = [*results.GOOD, *others]
    lines += ["| family | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for family, counts in sorted(families.items()):
        lines.append(f"| {family} | " + " | ".join(str(counts[column] or "") for column in columns) + " |")
    return [*lines, ""]


def document() -> str:
    rows = list(results.read(OUTCOMES).values())
    lines = listing("Elementwise", [row for row in rows if elementwise(row.kernel)])
    lines += listing("Others", [row for row in rows if not elementwise(row.kernel)])
    return HEAD + "\n" + "\n".join(lines)


if __name__ == "__main__":
    print(document(), end="")
