"""Installs what a build folder has compiled into the environment of the Python that runs this.

    python tools/install_tree.py build/release              beside the Python files that pip installed
    python tools/install_tree.py build/dev --into python    beside those of an editable install

Files that have not changed stay as they are. Those in the environment are added to the package's RECORD, so that
`pip uninstall anymps` removes them too.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import subprocess
import sysconfig
from importlib import metadata
from pathlib import Path


def record(files: list[Path]) -> None:
    """Without hashes, which pip leaves out of a RECORD for files that change."""
    distribution = metadata.distribution("anymps")
    listing = Path(distribution.locate_file("")) / distribution._path.name / "RECORD"
    rows = list(csv.reader(io.StringIO(listing.read_text())))
    known = {row[0] for row in rows}
    base = listing.parents[1]
    new = [os.path.relpath(file, base) for file in files]
    rows += [[name, "", ""] for name in new if name not in known]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    partial = listing.with_name("RECORD.new")
    partial.write_text(text.getvalue())
    partial.replace(listing)


def aim_at(build: Path, scripts: Path) -> None:
    """Where the executable goes is decided when a folder is configured; making a wheel of it decides otherwise."""
    cache = (build / "CMakeCache.txt").read_text()
    if not re.search(rf"^SKBUILD_SCRIPTS_DIR:\w+={re.escape(str(scripts))}$", cache, re.MULTILINE):
        command = ["cmake", f"-DSKBUILD_SCRIPTS_DIR={scripts}", build]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--into", type=Path, default=Path(sysconfig.get_path("platlib")), metavar="FOLDER")
    options = parser.parse_args()
    aim_at(options.build, Path(sysconfig.get_path("scripts")))
    command = ["cmake", "--install", options.build, "--prefix", options.into.resolve()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    environment = Path(sysconfig.get_path("data"))
    files = [Path(line) for line in (options.build / "install_manifest.txt").read_text().splitlines()]
    record([file for file in files if file.is_relative_to(environment)])


if __name__ == "__main__":
    main()
