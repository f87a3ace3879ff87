"""Small Metal libraries for tests: LLVM IR, assembled by llvm-as, in the container of a .metallib."""

import hashlib
import pathlib
import shutil
import struct
import subprocess

import pytest

HEADER_BYTES = 88

# Kernels as Apple's compiler writes them.
KERNELS = pathlib.Path(__file__).parent
POSITION = "air.thread_position_in_grid"


def bitcode(kernel: str = "scale", position: str = POSITION, changes: tuple[str, str] = ("", "")) -> bytes:
    """A kernel's module, with another kind of argument in place of its position where one is named, and one text for
    another."""
    assembler = shutil.which("llvm-as-19")
    if assembler is None:
        pytest.skip("no llvm-as-19 here")
    text = (KERNELS / f"{kernel}.ll").read_text().replace(POSITION, position)
    if changes[0]:
        assert changes[0] in text
        text = text.replace(*changes)
    return subprocess.run([assembler, "-o", "-", "-"], input=text.encode(), capture_output=True, check=True).stdout


def container(functions: dict[str, bytes], kind: int = 2) -> bytes:
    """One function for each name; `kind` is the number of its type, 2 for kernels."""
    entries, metadata, code = b"", b"", b""
    for name, module in functions.items():
        tags = {
            b"NAME": name.encode() + b"\0",
            b"TYPE": bytes([kind]),
            b"HASH": hashlib.sha256(module).digest(),
            b"MDSZ": struct.pack("<Q", len(module)),
            b"OFFT": struct.pack("<3Q", len(metadata), len(metadata), len(code)),
            b"VERS": struct.pack("<4H", 2, 6, 3, 1),
        }
        body = b"".join(tag + struct.pack("<H", len(value)) + value for tag, value in tags.items()) + b"ENDT"
        entries += struct.pack("<I", len(body) + 4) + body
        metadata += struct.pack("<I", 4) + b"ENDT"
        code += module
    functions_at = HEADER_BYTES
    public_at = functions_at + 4 + len(entries) + 4
    private_at = public_at + len(metadata)
    code_at = private_at + len(metadata)
    sections = (functions_at, len(entries), public_at, len(metadata), private_at, len(metadata), code_at, len(code))
    versions = bytes.fromhex("01800200070000810e000000")
    header = b"MTLB" + versions + struct.pack("<9Q", code_at + len(code), *sections)
    return header + struct.pack("<I", len(functions)) + entries + b"ENDT" + metadata + metadata + code
