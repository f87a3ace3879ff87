"""Prints where a torch package lies, its version and its commit, without importing it: that takes seconds, and a build
for CUDA cannot be imported where its libraries are missing.

    python torch_facts.py             of the torch that this Python would import
    python torch_facts.py FOLDER      of the one in this folder
"""

import importlib.util
import pathlib
import re
import sys


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else ""
    if not folder:
        found = importlib.util.find_spec("torch")
        if found is None:
            sys.exit(f"{sys.executable} has no torch")
        folder = found.submodule_search_locations[0]
    folder = pathlib.Path(folder).resolve()
    text = (folder / "version.py").read_text()
    values = dict(re.findall(r"^(__version__|git_version)\b.*= '(.+)'$", text, re.MULTILINE))
    print(folder, values["__version__"].split("+")[0], values["git_version"], sep=";", end="")


main()
