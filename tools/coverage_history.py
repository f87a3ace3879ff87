"""Writes data/coverage/history.txt: by which route each operator runs on MPS, release by release, from the wheels.

A macOS wheel carries native_functions.yaml and the torchgen that reads it, so each release is read by its own. The
headers of its MPS kernels, in the same wheel, are the cross-check: the two must name the same operators.

    python tools/coverage_history.py WHEEL...       read these (torch-2.8.0-cp311-none-macosx_11_0_arm64.whl, ...)
    python tools/coverage_history.py --download     fetch them with pip first: 2.7 to the newest there is, 1.2 GB
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "coverage"
FIRST = (2, 7)

# What a Mac's PyTorch sends to the CPU without being asked (aten/src/ATen/mps/MPSFallback.mm), and the first release
# that does not any more. The wheel does not say it.
FALLBACKS = {
    "embedding_renorm_": None,
    "linalg_svd": (2, 14),
    "linalg_svd.U": (2, 14),
    "col2im": (2, 8),
    "upsample_nearest3d.vec": (2, 8),
}

# What torch/backends/mps/__init__.py had in Python, until the release that has a kernel.
IN_PYTHON = {"native_group_norm": (2, 13), "native_group_norm_backward": (2, 13)}

READ = """
import json, pathlib, sys
root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root))
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.model import DispatchKey, NativeFunctionsGroup
packaged = root / "torchgen" / "packaged" / "ATen" / "native"
parsed = parse_native_yaml(str(packaged / "native_functions.yaml"), str(packaged / "tags.yaml"))
index = parsed.backend_indices[DispatchKey.MPS]
kernels = {str(f.func.name) for f in parsed.native_functions if index.has_kernel(f)}
for group in get_grouped_native_functions(parsed.native_functions):
    if isinstance(group, NativeFunctionsGroup) and group.structured and index.has_kernel(group.out):
        kernels.update(str(f.func.name) for f in group.functions())
composite = {
    str(f.func.name)
    for f in parsed.native_functions
    if f.has_composite_kernel or f.has_composite_explicit_autograd_non_functional_kernel
}
names = {str(f.func.name): f.root_name for f in parsed.native_functions}
print(json.dumps({"names": names, "kernels": sorted(kernels), "composite": sorted(composite)}))
"""


def version_of(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def read(wheel: pathlib.Path) -> tuple[str, dict]:
    """The release, and what its yaml says, checked against its headers."""
    release = re.match(r"torch-([0-9.]+)[-+]", wheel.name).group(1)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        members = archive.namelist()
        archive.extractall(folder, [name for name in members if name.startswith("torchgen/")])
        commit = re.search(r"git_version = '(\w+)'", archive.read("torch/version.py").decode()).group(1)
        finished = subprocess.run([sys.executable, "-c", READ, folder], check=True, capture_output=True, text=True)
    facts = json.loads(finished.stdout) | {"commit": commit}
    headers = {match.group(1) for name in members if (match := re.search(r"/ops/(\w+)_mps_dispatch\.h$", name))}
    roots = {facts["names"][name] for name in facts["kernels"]}
    if headers != roots:
        sys.exit(f"{wheel.name}: its headers and its yaml differ: {sorted(headers ^ roots)}")
    return release, facts


def route(name: str, release: str, facts: dict) -> str:
    if name not in facts["names"]:
        return "."
    if name in facts["kernels"]:
        return "m"
    if name in FALLBACKS and (FALLBACKS[name] is None or version_of(release) < FALLBACKS[name]):
        return "f"
    in_python = name in IN_PYTHON and version_of(release) < IN_PYTHON[name]
    return "c" if in_python or name in facts["composite"] else "-"


def listing(releases: dict[str, dict]) -> str:
    order = sorted(releases, key=version_of)
    lines = [
        "# By which route PyTorch's operators run on MPS, release by release, from its macOS wheels.",
        "# m: a kernel of its own. c: made of other operators. f: on the CPU, without being asked.",
        "# -: refused, or on the CPU with PYTORCH_ENABLE_MPS_FALLBACK=1. .: there is no such operator.",
        "releases " + " ".join(order),
        "commits " + " ".join(releases[release]["commit"] for release in order),
    ]
    for name in sorted({name for facts in releases.values() for name in facts["names"]}):
        lines.append(f"{name} {''.join(route(name, release, releases[release]) for release in order)}")
    return "\n".join(lines) + "\n"


def download(folder: str) -> list[pathlib.Path]:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    shown = subprocess.run([*pip, "index", "versions", "torch"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"Available versions: (.*)", shown).group(1).split(", ")
    for release in sorted({name.split("+")[0] for name in found if version_of(name.split("+")[0]) >= FIRST}):
        print(f"torch {release}", file=sys.stderr)
        platforms = [f"--platform=macosx_{macos}_0_arm64" for macos in (11, 12, 14, 15)]
        wanted = ["--no-deps", "--only-binary=:all:", *platforms, "--python-version=3.11", "--abi=cp311"]
        command = [*pip, "download", "-q", *wanted, "--implementation=cp", "-d", folder, f"torch=={release}"]
        subprocess.run(command, check=True)
    return sorted(pathlib.Path(folder).glob("*.whl"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="*", type=pathlib.Path, metavar="WHEEL")
    parser.add_argument("--download", action="store_true", help="fetch the wheels with pip")
    parser.add_argument("--output", type=pathlib.Path, default=DATA / "history.txt")
    arguments = parser.parse_args()
    if bool(arguments.wheels) == arguments.download:
        parser.error("name wheels, or say --download")
    with tempfile.TemporaryDirectory() as folder:
        wheels = download(folder) if arguments.download else arguments.wheels
        text = listing(dict(read(wheel) for wheel in wheels))
    arguments.output.write_text(text)
    print(f"{arguments.output.name}: {text.count(chr(10)) - 5} operators, {len(wheels)} releases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
