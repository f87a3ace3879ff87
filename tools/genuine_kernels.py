"""Cuts the Metal libraries that Apple's compiler made out of PyTorch's macOS wheel.

The wheel's libtorch_cpu.dylib carries them whole, one for each level of the Metal language. They are the yardstick of
src/metal: kernels that nobody here wrote. Nothing of the wheel is installed or run.

    python tools/genuine_kernels.py FOLDER                    # the wheel by pip, one .metallib each into FOLDER
    python tools/genuine_kernels.py FOLDER --torch 2.14.1 2.15.0   # of other releases
    python tools/genuine_kernels.py FOLDER --wheel FILE.whl   # from a wheel that is there
    ANYMPS_GENUINE_KERNELS=FOLDER make test                   # with the tests that read them

A release has two libraries, torch-RELEASE-0 and -1: the same kernels in two levels of the language. From 2.14 on the
second is Metal 4's (air64_v28), and has the kernels of tensor operations as well.
"""

import argparse
import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Function:
    bitcode: bytes
    air: tuple[int, int]
    metal: tuple[int, int]


def functions(library: bytes) -> dict[str, Function]:
    """What a genuine library holds, by name. It is trusted, as `anymps` trusts none: Apple's tools wrote it."""
    listed, _, _, _, _, _, bitcode, _ = HEADER.unpack_from(library)[2:]
    (count,) = struct.unpack_from("<I", library, listed)
    found, at = {}, listed + 4
    for _ in range(count):
        (size,) = struct.unpack_from("<I", library, at)
        tags, place = {}, at + 4
        while (tag := library[place : place + 4]) != b"ENDT":
            (length,) = struct.unpack_from("<H", library, place + 4)
            tags[tag] = library[place + 6 : place + 6 + length]
            place += 6 + length
        begin = bitcode + struct.unpack("<3Q", tags[b"OFFT"])[2]
        versions = struct.unpack("<4H", tags[b"VERS"])
        module = library[begin : begin + struct.unpack("<Q", tags[b"MDSZ"])[0]]
        found[tags[b"NAME"].rstrip(b"\0").decode()] = Function(module, versions[:2], versions[2:])
        at += size
    return found


def download(version: str, folder: str) -> pathlib.Path:
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *platforms]
    subprocess.run([*command, "--python-version", "3.11", "-d", folder, f"torch=={version}"], check=True)
    return next(pathlib.Path(folder).glob("torch-*.whl"))


def cut(version: str, given: pathlib.Path | None, folder: pathlib.Path) -> int:
    """Writes the libraries of a release and says what they are; how many there were."""
    with tempfile.TemporaryDirectory() as scratch:
        image = zipfile.ZipFile(given or download(version, scratch)).read(IMAGE)
    found = 0
    for found, library in enumerate(libraries(image), start=1):
        path = folder / f"torch-{version}-{found - 1}.metallib"
        path.write_bytes(library)
        kernels = functions(library)
        of = next(iter(kernels.values()))
        language = f"Metal {of.metal[0]}.{of.metal[1]}, AIR {of.air[0]}.{of.air[1]}"
        print(f"{path}  {len(library):,} bytes, {len(kernels):,} kernels, {language}")
    if found == 0:
        print(f"no Metal library in {IMAGE} of torch {version}", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--torch", default=["2.13.0"], nargs="+", metavar="VERSION")
    parser.add_argument("--wheel", type=pathlib.Path, help="a macOS wheel that is there already, of the one release")
    options = parser.parse_args()
    if options.wheel and len(options.torch) > 1:
        parser.error("--wheel is the wheel of one release")
    options.folder.mkdir(parents=True, exist_ok=True)
    return 0 if all([cut(version, options.wheel, options.folder) for version in options.torch]) else 1


if __name__ == "__main__":
    sys.exit(main())
