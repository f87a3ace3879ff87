"""Compiles every kernel of the genuine libraries in a folder and keeps what came of it as a dated table.

    python tests/genuine/verify_all.py FOLDER [--table tests/genuine/verified-2.13.tsv]

Status 1 where a kernel is refused. Takes minutes for each library; progress goes to stderr.
"""

import argparse
import datetime
import json
import pathlib
import platform
import subprocess
import sys
import sysconfig

COLUMNS = {
    "library": lambda name, found: name,
    "date": lambda name, found: datetime.date.today().isoformat(),
    "machine": lambda name, found: platform.machine(),
    "kernels": lambda name, found: found["kernels"],
    "thread loops": lambda name, found: found["thread_loops"],
    "coroutines": lambda name, found: found["coroutines"],
    "many lanes": lambda name, found: found["simd"]["kernels"],
    "compile ratio": lambda name, found: round(found["simd"]["median_compile_ratio"], 2),
    "refused": lambda name, found: sum(map(len, found["refusals"].values())),
    "median ms": lambda name, found: round(found["median_ms"], 1),
    "95 % ms": lambda name, found: round(found["p95_ms"], 1),
    "longest ms": lambda name, found: round(found["max_ms"], 1),
    "objects MiB": lambda name, found: round(found["object_bytes"] / 2**20, 1),
    "memory MiB": lambda name, found: round(found["peak_kib"] / 1024),
    "seconds": lambda name, found: round(found["seconds"]),
}


def verify(library: pathlib.Path) -> dict:
    command = [pathlib.Path(sysconfig.get_path("scripts")) / "anymps", "metal", "verify", "--simd", "--json", library]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if finished.returncode not in (0, 2) or not finished.stdout:
        raise SystemExit(f"{library}: anymps metal verify ended with status {finished.returncode}")
    return json.loads(finished.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path, help="where the table goes, too")
    options = parser.parse_args()
    libraries = sorted(options.folder.glob("*.metallib"))
    if not libraries:
        parser.error(f"{options.folder} has no .metallib; tools/genuine_kernels.py makes some")
    lines = ["\t".join(COLUMNS)]
    refused = 0
    for library in libraries:
        found = verify(library)
        for reason, names in found["refusals"].items():
            refused += len(names)
            print(f"{len(names)} x {reason}: {', '.join(names[:5])}", file=sys.stderr)
        lines.append("\t".join(str(value(library.stem, found)) for value in COLUMNS.values()))
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.table:
        options.table.write_text(text)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
