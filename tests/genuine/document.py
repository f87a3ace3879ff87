"""Writes docs/genuine.md from the committed tables: which kernels were launched and compared, by family.

python tests/genuine/document.py > docs/genuine.md
"""

import collections
import pathlib
import re

import results
from names import elementwise, family_of

HERE = pathlib.Path(__file__).parent
FROM_SOURCE = HERE / "from-source-2.13.tsv"
# Kernels and families of the first library in each release's wheel.
LIBRARIES = {"2.13": (12998, 404), "2.14": (16024, 520), "2.15": (18563, 655)}
LATER = ("2.14", "2.15")
TENSOR_OPERATIONS = """## Tensor operations

The second library of 2.14 and 2.15 has all that the first one has, and kernels that call Metal 4's tensor operations.
Those are all here; the attention named `_a9_` was launched as on a Mac with M4.
"""
HEAD = """# PyTorch's own kernels, checked

PyTorch's macOS wheels carry Metal libraries, in two language levels, of 12,998 kernels in 2.13, 16,024 in 2.14.1 and
18,563 in 2.15.0. Those listed here were launched as the release's host code launches them and compared with torch 2.13
on the CPU, dtype by dtype, on ordinary and hard inputs ([metal.md](metal.md) says how to run it again). A family is a
name without its types and sizes; of an elementwise kernel, of which there are dense, strided, broadcast and converting
forms, it is the operator. From 2.14 on this is the first library, the one without tensor operations; what is in
the second one alone is in the table of tensor operations.

*Equal* is to the bit; *close* is within a tolerance that the checker gives a reason for (`tests/genuine/families/`). A
kernel whose bitcode is that of an earlier release's, which was checked there, is not run again: it is *as 2.13*, or
*as 2.14*. Of what is new in a later release the tables have a part of each family so far; `make test-full` runs all.
Six kernels more, the products with weights of 8 bits, are checked in C++ (`tests/metal/genuine_kernels_test.cpp`).
*Same bits from source* counts the kernels of 2.13 that our frontend compiled: see the end.

Kernels whose threadgroup memory the launch sizes are launched by `anymps metal run`. One family counts on the lanes of
a simdgroup going in step where Metal promises nothing: `eigh_jacobi`, of which lanes write what others have just read.
The engines give the same bits for it, as vectors and thread by thread ([metal.md](metal.md#how-a-kernel-runs)).
"""
SOURCE = """## The same kernels, compiled from source

`python tests/genuine/run.py --source TREE --against tests/genuine/outcomes-2.13.tsv --sameness
tests/genuine/from-source-2.13.tsv` compiles PyTorch's `.metal` files with our frontend and launches the same kernels on
the same inputs. *Same* means that every bit of every output is that of the kernel that Apple compiled, on the same
engine and machine; of NaNs only that they are NaNs. *Not compiled* are kernels that the frontend refuses, or that the
sources do not have: those at hand were a little older than the wheel, and without `argmax` and `argmin`.
"""


def summary() -> list[str]:
    lines = ["| release | kernels | checked | of them as before | equal | close | families checked |", "|---" * 7 + "|"]
    for release, (kernels, families) in LIBRARIES.items():
        path = results.table_of(release)
        rows, counts = results.read(path, resolved=False), collections.Counter()
        for row in results.read(path).values():
            counts[row.verdict] += 1
        before = sum(row.verdict.startswith(results.AS) for row in rows.values())
        checked = len({family_of(name) for name in rows})
        cells = [len(rows), before, counts["equal"], counts["close"], f"{checked} of {families}"]
        lines.append(f"| {release} | {kernels} | " + " | ".join(map(str, cells)) + " |")
    return [*lines, ""]


def later_listing(release: str) -> list[str]:
    """Every family with its verdicts, and what was checked in an earlier release."""
    families = collections.defaultdict(collections.Counter)
    for row in results.read(results.table_of(release), resolved=False).values():
        families[family_of(row.kernel)][row.verdict] += 1
    others = sorted({verdict for counts in families.values() for verdict in counts} - set(results.GOOD))
    columns = [*results.GOOD, *others]
    lines = [f"## PyTorch {release}: {len(families)} families", ""]
    lines += ["| family | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for family, counts in sorted(families.items()):
        lines.append(f"| {family} | " + " | ".join(str(counts[column] or "") for column in columns) + " |")
    return [*lines, ""]


def tensor_operations() -> list[str]:
    families = collections.defaultdict(collections.Counter)
    for release in LATER:
        for row in results.read(HERE / f"tensor-operations-{release}.tsv").values():
            families[re.split(r"_mpp|_\d", row.kernel)[0]][release, row.verdict] += 1
    columns = [(release, verdict) for release in LATER for verdict in results.GOOD]
    columns += sorted({key for counts in families.values() for key in counts} - set(columns))
    titles = [f"{release} {verdict}" for release, verdict in columns]
    lines = [TENSOR_OPERATIONS, "| kernels | " + " | ".join(titles) + " |", "|---|" + "---|" * len(columns)]
    for family, counts in sorted(families.items()):
        lines.append(f"| {family} | " + " | ".join(str(counts[column] or "") for column in columns) + " |")
    return [*lines, ""]


def listing(title: str, rows: list[results.Row], from_source: dict[str, str]) -> list[str]:
    families = collections.defaultdict(collections.Counter)
    same = collections.Counter()
    for row in rows:
        families[family_of(row.kernel)][row.verdict] += 1
        same[family_of(row.kernel)] += from_source[row.kernel] == "same"
    lines = [f"## {title}: {len(rows)} kernels in {len(families)} families", ""]
    others = sorted({verdict for counts in families.values() for verdict in counts} - set(results.GOOD))
    columns = [*results.GOOD, *others]
    lines += ["| family | " + " | ".join(columns) + " | same bits from source |", "|---|" + "---|" * (len(columns) + 1)]
    for family, counts in sorted(families.items()):
        cells = [str(counts[column] or "") for column in columns]
        lines.append(f"| {family} | " + " | ".join(cells) + f" | {same[family]} of {counts.total()} |")
    return [*lines, ""]


def sameness(from_source: dict[str, str]) -> list[str]:
    lines = [SOURCE, "| kernels | " + " | ".join(results.SAMENESS) + " | families all of whose kernels are the same |"]
    lines.append("|---|" + "---|" * (len(results.SAMENESS) + 1))
    for kind, is_elementwise in (("elementwise", True), ("others", False)):
        outcomes = {name: x for name, x in from_source.items() if (elementwise(name) is not None) == is_elementwise}
        counts = collections.Counter(outcomes.values())
        families = {family_of(name) for name in outcomes}
        spoilt = {family_of(name) for name, outcome in outcomes.items() if outcome != "same"}
        cells = [str(counts[outcome]) for outcome in results.SAMENESS]
        lines.append(f"| {kind} | " + " | ".join(cells) + f" | {len(families - spoilt)} of {len(families)} |")
    rest = collections.defaultdict(list)
    for name, outcome in sorted(from_source.items()):
        if outcome != "same":
            rest[outcome, family_of(name)].append(name)
    lines += ["", *(f"- {outcome}: {family}, {len(names)}" for (outcome, family), names in sorted(rest.items())), ""]
    return lines


def document() -> str:
    rows = list(results.read(results.table_of("2.13")).values())
    from_source = results.read_sameness(FROM_SOURCE)
    lines = summary()
    lines += listing("PyTorch 2.13, elementwise", [row for row in rows if elementwise(row.kernel)], from_source)
    lines += listing("PyTorch 2.13, others", [row for row in rows if not elementwise(row.kernel)], from_source)
    for release in LATER:
        lines += later_listing(release)
    lines += tensor_operations()
    lines += sameness(from_source)
    return HEAD + "\n" + "\n".join(lines)


if __name__ == "__main__":
    print(document(), end="")
