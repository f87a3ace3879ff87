"""What differs between two releases of PyTorch in their Metal libraries: what is new, gone, or of another signature.

    python tests/genuine/changes.py torch-2.13.0-0.metallib torch-2.14.1-0.metallib

Kernels of the same bitcode need no second check (run.py --known). One whose signature is another is launched otherwise.
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import subprocess
import sys
import sysconfig

from names import family_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import genuine_kernels

Signatures = dict[str, tuple[str, ...]]


@dataclasses.dataclass
class Changes:
    new: list[str]
    gone: list[str]
    same: list[str]  # to the bit
    changed: list[str]  # their code


def changes(before: dict[str, bytes], now: dict[str, bytes]) -> Changes:
    both = sorted(set(before) & set(now))
    return Changes(
        sorted(set(now) - set(before)),
        sorted(set(before) - set(now)),
        [name for name in both if before[name] == now[name]],
        [name for name in both if before[name] != now[name]],
    )


def in_words(argument: dict) -> str:
    """What a launch has to know of it."""
    words = [argument.get("binding"), argument.get("type"), argument["name"], argument.get("size")]
    return " ".join(str(word) for word in [argument["kind"], *words] if word is not None)


def signatures(library: pathlib.Path, names: list[str]) -> Signatures:
    if not names:
        return {}
    command = [pathlib.Path(sysconfig.get_path("scripts")) / "anymps", "metal", "list", "--json", library, *names]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    return {each["name"]: tuple(map(in_words, each.get("arguments", ()))) for each in json.loads(listed)["functions"]}


def by_family(title: str, names: list[str]) -> list[str]:
    counts = collections.Counter(map(family_of, names))
    return [f"{title}: {family}, {count}" for family, count in sorted(counts.items())]


def other_signatures(before: Signatures, now: Signatures) -> list[str]:
    families = collections.defaultdict(list)
    for name in before:
        if before[name] != now[name]:
            families[family_of(name)].append(name)
    lines = []
    for family, names in sorted(families.items()):
        old, new = before[names[0]], now[names[0]]
        lines.append(f"other signature: {family}, {len(names)}, such as {names[0]}")
        lines += [f"    was {word}" for word in old if word not in new]
        lines += [f"    now {word}" for word in new if word not in old]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path, metavar="OLD.metallib")
    parser.add_argument("now", type=pathlib.Path, metavar="NEW.metallib")
    options = parser.parse_args()
    read = [genuine_kernels.functions(path.read_bytes()) for path in (options.before, options.now)]
    found = changes(*({name: function.bitcode for name, function in library.items()} for library in read))
    counts = (f"{len(found.same)} the same to the bit", f"{len(found.changed)} changed", f"{len(found.new)} new")
    print(", ".join([*counts, f"{len(found.gone)} gone"]))
    lines = by_family("new", found.new) + by_family("gone", found.gone)
    lines += other_signatures(signatures(options.before, found.changed), signatures(options.now, found.changed))
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
