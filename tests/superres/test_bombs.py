"""Small files that unfold to much: refused before memory is taken for them."""

import io
import struct
import zipfile
import zlib

import torch
from pictures import write_pictures

MIB = 1 << 20


def saved(state: dict) -> bytes:
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


def compressed(archive: bytes, replaced: dict[str, bytes]) -> bytes:
    """The same archive with compressed records, and others in the place of some."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as before, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            after.writestr(name, replaced.get(name.split("/", 1)[1], before.read(name)))
    return file.getvalue()


def test_a_compressed_record(sr):
    state = saved({"x": torch.zeros(4)})
    for record in ("data/0", "version", "data.pkl"):
        (sr.folder / "bomb.pth").write_bytes(compressed(state, {record: bytes(128 * MIB)}))
        assert (sr.folder / "bomb.pth").stat().st_size < MIB
        result = sr.run("convert", "bomb.pth", "out.safetensors", status=2)
        assert "unfolds to far more than the file has" in result.stderr


def test_many_tensors_of_one_storage(sr):
    storage = torch.zeros(MIB)
    (sr.folder / "bomb.pth").write_bytes(saved({f"t{i}": storage for i in range(200)}))
    assert "unfolds to far more" in sr.run("convert", "bomb.pth", "out.safetensors", status=2).stderr
    sr.run("convert", "bomb.pth", "out.safetensors", ANYMPS_SR_MOST_BYTES=str(2000 * MIB))


def test_compressed_weights_that_are_honest(sr):
    (sr.folder / "a.pth").write_bytes(compressed(saved({"x": torch.zeros(MIB)}), {}))
    sr.run("convert", "a.pth", "a.safetensors")


def test_a_picture_of_too_many_pixels(sr):
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    side = 12_000
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes((side + 1) * 64), 1))
    write_pictures(sr.folder / "in", 1)
    (sr.folder / "in" / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b""))
    result = sr.run("pack", "in", "pairs.lmdb", status=None)
    assert "12000 x 12000 pixels: too many (ANYMPS_SR_MOST_PIXELS raises the bound)" in result.stderr
