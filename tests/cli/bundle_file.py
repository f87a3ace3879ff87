"""Bundles as nobody should make them: tars of any shape under a zstd that only stores."""

import hashlib
import io
import json
import struct
import tarfile

ENVIRONMENT = {"python": {"version": "3.11.2"}, "packages": [], "torch": None, "platform": {}, "variables": {}}


def stored_zstd(data: bytes, zeros: int = 0) -> bytes:
    """A frame of blocks that are not compressed, and then `zeros` zeros in blocks that are."""
    blocks = [(0, data[at : at + 65536]) for at in range(0, len(data), 65536)]
    blocks += [(1, b"\0")] * (zeros // 65536)
    frame = struct.pack("<IBB", 0xFD2FB528, 0, 6 << 3)
    for index, (kind, block) in enumerate(blocks):
        size = 65536 if kind == 1 else len(block)
        header = (size << 3) | (kind << 1) | (index == len(blocks) - 1)
        frame += header.to_bytes(3, "little") + block
    return frame


def manifest_of(files: dict[str, bytes], **more) -> bytes:
    listed = [
        {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "executable": False}
        for path, data in files.items()
    ]
    golden = {"words": ["train.py"], "folder": "files", "given": ["python", "train.py"]}
    whole = {"format": "anymps-handoff", "version": 1, "golden": golden, "platform": {}, "files": listed}
    return json.dumps(whole | more).encode()


class Tar:
    def __init__(self) -> None:
        self.buffer = io.BytesIO()
        self.tar = tarfile.TarFile(fileobj=self.buffer, mode="w", format=tarfile.PAX_FORMAT)

    def file(self, path: str, data: bytes) -> "Tar":
        entry = tarfile.TarInfo(path)
        entry.size = len(data)
        entry.mode = 0o644
        self.tar.addfile(entry, io.BytesIO(data))
        return self

    def other(self, path: str, kind: bytes, target: str = "") -> "Tar":
        entry = tarfile.TarInfo(path)
        entry.type = kind
        entry.linkname = target
        self.tar.addfile(entry)
        return self

    def bytes(self) -> bytes:
        self.tar.close()
        return self.buffer.getvalue()


def good_files() -> dict[str, bytes]:
    return {"environment.json": json.dumps(ENVIRONMENT).encode(), "files/train.py": b"print('trained')\n"}


def good_tar(files: dict[str, bytes] | None = None, **manifest) -> Tar:
    files = good_files() if files is None else files
    tar = Tar().file("manifest.json", manifest_of(files, **manifest))
    for path, data in files.items():
        tar.file(path, data)
    return tar
