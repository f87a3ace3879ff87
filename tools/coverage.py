"""Writes data/coverage/torchRELEASE.txt from PyTorch's wheel.

The wheel carries native_functions.yaml, which names every operator that PyTorch's MPS backend has a kernel for;
torchgen, in the same wheel, knows which variants (functional, in-place, out) a structured kernel stands for.

    python tools/coverage.py                         # write the list for the installed torch
    python tools/coverage.py --check                 # exit 1 if the committed list differs
    python tools/coverage.py --package build/torch/2.15    # of the one that tools/torch_package.py has put there
"""

import argparse
import importlib.util
import pathlib
import re
import sys

KEYS = ("MPS", "SparseMPS", "SparseCsrMPS")
DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "coverage"


def module(name: str):
    """Of torchgen, which is read where the list is to come from."""
    return importlib.import_module(f"torchgen.{name}")


def device_check(function, inherits: str | None = None) -> str:
    """Who refuses a tensor of the CPU among the arguments: that decides the text (backend/dispatch/coverage.h)."""
    iterated = function.device_check is module("model").DeviceCheckType.NoCheck or inherits == "TensorIteratorBase"
    return "iterator" if iterated else "placeholder"


def operators(parsed, key: str) -> list[str]:
    index = parsed.backend_indices[getattr(module("model").DispatchKey, key)]
    rows = {str(f.func.name): device_check(f) for f in parsed.native_functions if index.has_kernel(f)}
    for group in module("gen").get_grouped_native_functions(parsed.native_functions):
        if isinstance(group, module("model").NativeFunctionsGroup) and group.structured and index.has_kernel(group.out):
            rows.update((str(f.func.name), device_check(f, group.out.structured_inherits)) for f in group.functions())
    return sorted(f"{name} {check}" for name, check in rows.items())


def listing(version: str, packages: pathlib.Path) -> str:
    packaged = packages / "torchgen" / "packaged" / "ATen" / "native"
    parsed = module("gen").parse_native_yaml(str(packaged / "native_functions.yaml"), str(packaged / "tags.yaml"))
    lines = [
        f"# Operators with an MPS kernel in PyTorch {version}, from the wheel's native_functions.yaml.",
        "# Dispatch key, operator, and how the devices of its arguments are checked.",
    ]
    lines += [f"{key} {row}" for key in KEYS for row in operators(parsed, key)]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed list instead of writing it")
    parser.add_argument("--package", type=pathlib.Path, metavar="FOLDER", help="with torch and torchgen in it")
    arguments = parser.parse_args()
    if arguments.package:
        sys.path.insert(0, str(arguments.package))
    packages = pathlib.Path(importlib.util.find_spec("torchgen").origin).parents[1]
    version = re.search(r"^__version__ = '([\d.]+)", (packages / "torch/version.py").read_text(), re.MULTILINE)[1]
    path = DATA / f"torch{version.rpartition('.')[0]}.txt"
    text = listing(version, packages)
    if not arguments.check:
        path.write_text(text)
        print(f"{path.name}: {text.count(chr(10)) - 2} operators")
        return 0
    if path.exists() and path.read_text() == text:
        return 0
    print(f"{path.name} does not match the wheel; run tools/coverage.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
