"""anymps sr pack, info and verify, with other implementations of codecs, LMDB and scaling beside them."""

import random
import signal
import struct
import time
import zlib

import lmdb
import numpy as np
import pytest
import slices
import torch
from pictures import picture, write_pictures
from PIL import Image

KILLS = 20 if slices.whole() else 8
HEADER = struct.Struct("<4sI4I2H")


def records(path):
    """(high, low) of each, as arrays of height x width x channels."""
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as database, database.begin() as transaction:
        count = int(transaction.get(b"count", b"0"))
        for index in range(count):
            bytes_ = transaction.get(b"r" + struct.pack(">Q", index))
            magic, checksum, *sizes, channels, bits = HEADER.unpack_from(bytes_)
            assert magic == b"SPR1"
            assert zlib.crc32(bytes_[8:]) == checksum
            kind = np.uint16 if bits == 16 else np.uint8
            samples = np.frombuffer(bytes_, kind, offset=HEADER.size)
            width, height, low_width, low_height = sizes
            high = samples[: width * height * channels].reshape(height, width, channels)
            yield high, samples[width * height * channels :].reshape(low_height, low_width, channels)


def smaller(high: np.ndarray, scale: int, mode: str) -> np.ndarray:
    pixels = torch.from_numpy(high.astype(np.float32) / 255).permute(2, 0, 1)[None]
    options = {"antialias": True, "align_corners": False} if mode == "bicubic" else {}
    low = torch.nn.functional.interpolate(pixels, scale_factor=1 / scale, mode=mode, **options)
    return (255 * low.clamp(0, 1)).round()[0].permute(1, 2, 0).numpy()


@pytest.mark.parametrize(("scale", "mode"), [(2, "bicubic"), (3, "area"), (4, "bicubic")])
def test_pairs_are_what_torch_makes(sr, scale, mode):
    picture(1, 97).save(sr.folder / "a.png")
    sr.run("pack", ".", "pairs.lmdb", "--scale", scale, "--downscale", mode)
    ((high, low),) = records(sr.folder / "pairs.lmdb")
    side = 97 // scale * scale
    assert np.array_equal(high, np.asarray(picture(1, 97))[:side, :side])
    assert np.abs(low.astype(float) - smaller(high, scale, mode)).max() <= 1


def test_codecs(sr):
    image = picture(2, 64)
    folder = sr.folder / "in"
    folder.mkdir()
    image.save(folder / "a.png")
    image.convert("P").save(folder / "b.png")
    image.convert("LA").save(folder / "c.png")
    Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257).save(folder / "d.png")
    image.save(folder / "e.jpg", quality=90)
    image.convert("L").save(folder / "f.jpg")
    image.save(folder / "g.webp", lossless=True)
    image.save(folder / "h.png", interlace=1)
    sr.run("pack", folder, "pairs.lmdb")
    made = [high for high, _ in records(sr.folder / "pairs.lmdb")]
    wanted = [np.asarray(Image.open(file).convert("RGB")).astype(int) for file in sorted(folder.iterdir())]
    wanted[3] = np.repeat(np.asarray(image.convert("L")).astype(int)[..., None] * 257, 3, -1)
    assert len(made) == len(wanted)
    for one, other in zip(made, wanted, strict=True):
        assert np.abs(one.astype(int) - other).max() <= 1


def test_bad_files_are_skipped_and_told(sr):
    folder = write_pictures(sr.folder / "in", 3)
    whole = (folder / "000.png").read_bytes()
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.webp").write_text("no picture")
    Image.new("RGB", (1, 1)).save(folder / "one.png")
    result = sr.run("pack", folder, "pairs.lmdb", "--quiet")
    for name in ("cut.png", "empty.jpg", "text.webp", "one.png"):
        assert f"skipped {name}: " in result.stderr
    info = sr.json("info", "pairs.lmdb")
    assert (info["pairs"], info["files"], len(info["skipped"])) == (3, 7, 4)


def test_the_map_is_sparse(sr):
    write_pictures(sr.folder / "in", 2)
    sr.run("pack", "in", "pairs.lmdb")
    info = sr.json("info", "pairs.lmdb")
    assert info["map_bytes"] == 1 << 40
    assert info["disk_bytes"] < 4 << 20


def test_crops_cover_the_picture(sr):
    picture(3, 100).save(sr.folder / "a.png")
    sr.run("pack", ".", "pairs.lmdb", "--crop", 32)
    pieces = list(records(sr.folder / "pairs.lmdb"))
    assert len(pieces) == 16
    assert all(high.shape == (32, 32, 3) and low.shape == (16, 16, 3) for high, low in pieces)
    assert np.array_equal(pieces[-1][0], np.asarray(picture(3, 100))[68:, 68:])


def test_degradations_follow_the_seed(sr):
    write_pictures(sr.folder / "in", 3)
    options = ("--noise", 10, "--jpeg", 40, "--downscale", "mixed")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        sr.run("pack", "in", f"{name}.lmdb", *options, "--seed", seed)
    a, b, c = ([low for _, low in records(sr.folder / f"{name}.lmdb")] for name in "abc")
    assert all(np.array_equal(one, other) for one, other in zip(a, b, strict=True))
    assert not any(np.array_equal(one, other) for one, other in zip(a, c, strict=True))


def test_a_damaged_record_is_found(sr):
    write_pictures(sr.folder / "in", 2)
    sr.run("pack", "in", "pairs.lmdb")
    sr.run("verify", "pairs.lmdb")
    high = next(records(sr.folder / "pairs.lmdb"))[0].tobytes()
    path = sr.folder / "pairs.lmdb"
    bytes_ = bytearray(path.read_bytes())
    place = bytes_.index(high[1000:1100])
    bytes_[place] ^= 1
    path.write_bytes(bytes_)
    result = sr.run("verify", "pairs.lmdb", status=1)
    assert "its checksum is wrong" in result.stderr


def test_a_database_that_is_cut_short_is_told(sr):
    write_pictures(sr.folder / "in", 12)
    sr.run("pack", "in", "pairs.lmdb")
    path = sr.folder / "pairs.lmdb"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for verb in ("verify", "info"):
        assert "cut short" in sr.run(verb, "pairs.lmdb", status=2).stderr


def test_a_database_that_lacks_its_last_bytes_is_told(sr):
    """Its length does not tell: LMDB may leave that much unwritten."""
    write_pictures(sr.folder / "in", 12)
    sr.run("pack", "in", "pairs.lmdb")
    path = sr.folder / "pairs.lmdb"
    whole = path.read_bytes()
    for missing in (1, 4096, 20_000, 65_536):
        path.write_bytes(whole[:-missing])
        result = sr.run("verify", "pairs.lmdb", status=None)
        assert result.returncode in (0, 1, 2), missing
        assert result.returncode == 0 or "cut short" in result.stderr or "its checksum is wrong" in result.stderr


def test_a_record_that_claims_other_sizes_is_damaged(sr):
    write_pictures(sr.folder / "in", 2)
    sr.run("pack", "in", "pairs.lmdb")
    rest = struct.pack("<4I2H", 2, 2, 40, 40, 3, 8) + bytes(12 + 4800)
    record = b"SPR1" + struct.pack("<I", zlib.crc32(rest)) + rest
    with lmdb.open(str(sr.folder / "pairs.lmdb"), subdir=False) as database, database.begin(write=True) as transaction:
        transaction.put(b"r" + struct.pack(">Q", 1), record)
    assert "2 times as large" in sr.run("verify", "pairs.lmdb", status=1).stderr


def test_what_was_skipped_is_tried_again(sr):
    folder = write_pictures(sr.folder / "in", 2)
    whole = (folder / "001.png").read_bytes()
    (folder / "001.png").write_bytes(whole[:100])
    assert "skipped 001.png" in sr.run("pack", "in", "pairs.lmdb").stderr
    (folder / "001.png").write_bytes(whole)
    sr.run("pack", "in", "pairs.lmdb")
    assert sr.json("info", "pairs.lmdb")["pairs"] == 2
    # Another picture by a name that is taken is not dropped without a word.
    picture(7, 64).save(folder / "000.png")
    said = sr.run("pack", "in", "pairs.lmdb").stderr
    assert "skipped 000.png: another file of that name is packed already" in said


def test_what_cannot_be_packed_is_said_in_one_line(sr):
    (sr.folder / "none").mkdir()
    write_pictures(sr.folder / "in", 1)
    sr.run("pack", "in", "pairs.lmdb")
    with lmdb.open(str(sr.folder / "other.lmdb"), subdir=False) as database, database.begin(write=True) as transaction:
        transaction.put(b"mine", b"1")
    for words, text in (
        (("pack", "none", "new.lmdb"), "no PNG, JPEG or WebP"),
        (("pack", "nowhere", "new.lmdb"), "nowhere"),
        (("pack", "in", "new.lmdb", "--scale", 7), "none of 2, 3 and 4"),
        (("pack", "in", "pairs.lmdb", "--scale", 3), "other settings"),
        (("pack", "in", "other.lmdb"), "another program"),
        (("info", "nowhere.lmdb"), "no such database"),
        (("info", "other.lmdb"), "another program"),
    ):
        result = sr.run(*words, status=2)
        assert text in result.stderr
        assert result.stderr.count("\n") == 1
        assert not (sr.folder / "new.lmdb").exists()
    with lmdb.open(str(sr.folder / "pairs.lmdb"), subdir=False) as database, database.begin(write=True) as transaction:
        about = transaction.get(b"about").replace(b'"version":1', b'"version":9')
        transaction.put(b"about", about)
    assert "of version 9" in sr.run("info", "pairs.lmdb", status=2).stderr


def test_killed_packs_go_on(sr):
    write_pictures(sr.folder / "in", 60)
    begin = time.monotonic()
    sr.run("pack", "in", "whole.lmdb")
    lasts = time.monotonic() - begin
    chance = random.Random(0)
    for _ in range(KILLS):
        child = sr.start("pack", "in", "pairs.lmdb", "--quiet")
        time.sleep(chance.uniform(0, lasts))
        child.send_signal(signal.SIGKILL)
        child.wait()
        if (sr.folder / "pairs.lmdb").exists():
            result = sr.run("verify", "pairs.lmdb", status=None)
            assert result.returncode == 0 or "nothing is packed into it yet" in result.stderr
    sr.run("pack", "in", "pairs.lmdb")
    one, other = (list(records(sr.folder / name)) for name in ("whole.lmdb", "pairs.lmdb"))
    assert len(one) == len(other) == 60
    for (high, low), (high2, low2) in zip(one, other, strict=True):
        assert np.array_equal(high, high2)
        assert np.array_equal(low, low2)
