"""`anymps handoff pack` and `verify`: a round trip, what differs, and bundles that must be refused."""

import hashlib
import json
import os
import pathlib
import plistlib
import random
import shutil
import subprocess
import sys
import tarfile
import time

import pytest
from bundle_file import Tar, good_files, good_tar, manifest_of, stored_zstd

TRAINING = "import sys\nprint('trained', sys.argv[1:])\n"


@pytest.fixture
def handoff(call, tmp_path):
    """`anymps handoff ...` with a logbook of its own."""

    def call_handoff(*words, **variables):
        return call("handoff", *words, ANYMPS_LOGBOOK=str(tmp_path / "tmp" / "logbook.sqlite"), **variables)

    return call_handoff


@pytest.fixture
def work(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    (tmp_path / "helper").mkdir()
    (tmp_path / "helper" / "données.py").write_text("x = 1\n")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.bin").write_bytes(b"a" * 1000)
    (tmp_path / "images" / "b.bin").write_bytes(b"b" * 10)
    return tmp_path


def pack(handoff, *words, name="train.tar.zst", **variables):
    command = ("--", sys.executable, "train.py", "--data", "images")
    return handoff("pack", "-o", name, "--owner", "ada", "--json", *words, *command, **variables)


def tree(folder: pathlib.Path) -> dict[str, bytes | None]:
    """All that is there, but for what tests and the logbook put down themselves."""
    kept = (p for p in folder.rglob("*") if "tmp" not in p.relative_to(folder).parts[:1])
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in kept}


def test_a_bundle_makes_the_round_trip(handoff, work):
    made = pack(handoff, "--include", "helper", "--data", "images", "--with-data", OMP_NUM_THREADS="3", HF_TOKEN="hush")
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert document["verdict"] == "good" and document["withheld"] == ["HF_TOKEN"]
    assert document["golden"]["words"] == ["train.py", "--data", "{data}"] and document["golden"]["owner"] == "ada"
    assert document["sha256"] in (work / "train.tar.zst.sha256").read_text()

    taken = handoff(
        *("verify", "train.tar.zst", "--into", "there", "--sha256", document["sha256"].upper(), "--json"),
        *("--python", sys.executable),
        OMP_NUM_THREADS="3",
    )
    assert taken.returncode == 0, taken.stdout + taken.stderr
    verified = json.loads(taken.stdout)
    assert [one for one in verified["differences"] if one["severity"] == "red"] == []
    there = work / "there"
    assert (there / "files" / "train.py").read_text() == TRAINING
    assert (there / "files" / "helper" / "données.py").read_text() == "x = 1\n"
    assert (there / "data" / "a.bin").read_bytes() == b"a" * 1000
    manifest = (there / "manifest.json").read_bytes()
    assert hashlib.sha256(manifest).hexdigest() == document["sha256"]
    assert b"hush" not in b"".join(p.read_bytes() for p in there.rglob("*") if p.is_file())
    service = plistlib.loads((there / "golden.plist").read_bytes())
    assert service["EnvironmentVariables"]["OMP_NUM_THREADS"] == "3"
    assert service["ProgramArguments"][1:] == ["train.py", "--data", "images"]
    unit = (there / "golden.service").read_text()
    assert 'Environment="OMP_NUM_THREADS=3"' in unit and '"train.py" "--data" "images"' in unit
    lock = (there / "requirements.lock").read_text()
    assert f"pytest=={pytest.__version__}" in lock
    for source in (there / "recorder").glob("*.py"):
        compile(source.read_text(), source.name, "exec")
    assert (there / "recorder" / "__main__.py").exists()


def test_the_same_contents_make_the_same_bundle(handoff, work):
    for name in ("one.tar.zst", "two.tar.zst"):
        assert pack(handoff, name=name, SOURCE_DATE_EPOCH="1700000000").returncode == 0
    assert (work / "one.tar.zst").read_bytes() == (work / "two.tar.zst").read_bytes()


def test_a_repository_gives_what_it_tracks(handoff, work):
    def git(*words):
        settings = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *settings, *words], cwd=work, check=True, capture_output=True)

    (work / "weights.bin").write_bytes(b"\0" * (17 << 20))
    (work / "outside").symlink_to("/etc/hostname")
    git("init", "-q")
    git("add", "train.py", "helper", "weights.bin", "outside")
    git("commit", "-qm", "first")
    made = pack(handoff)
    assert made.returncode == 0, made.stderr
    document = json.loads(made.stdout)
    assert {one["path"] for one in document["left_out"]} == {"weights.bin", "outside"}
    assert len(document["golden"]["commit"]) == 40 and not document["golden"]["modified"]
    assert handoff("verify", "train.tar.zst", "--into", "there").returncode in (0, 1)
    packed = {str(p.relative_to(work / "there/files")) for p in (work / "there/files").rglob("*") if p.is_file()}
    assert packed == {"train.py", "helper/données.py"}


def test_what_differs_is_said(handoff, work):
    assert pack(handoff, "--data", "images", OMP_NUM_THREADS="3", PYTHONPATH="").returncode == 0
    (work / "images" / "b.bin").write_bytes(b"c" * 10)
    (work / "images" / "a.bin").unlink()
    words = ("verify", "train.tar.zst", "--data", "images", "--python", sys.executable)
    taken = handoff(*words, "--json", OMP_NUM_THREADS="8", PYTHONPATH="/stray")
    assert taken.returncode == 1
    red = {(o["kind"], o["name"]): o for o in json.loads(taken.stdout)["differences"] if o["severity"] == "red"}
    assert set(red) == {
        ("variable", "OMP_NUM_THREADS"),
        ("variable", "PYTHONPATH"),
        ("data", "a.bin"),
        ("data", "b.bin"),
    }
    assert (red["variable", "OMP_NUM_THREADS"]["here"], red["variable", "OMP_NUM_THREADS"]["there"]) == ("8", "3")
    assert red["data", "a.bin"]["here"] is None
    screen = handoff(*words, OMP_NUM_THREADS="8").stdout
    assert "! variable: OMP_NUM_THREADS\n  - 3\n  + 8" in screen and "bad" in screen


def refused(handoff, folder, data: bytes, *words) -> str:
    """Verifies what must not be taken, and returns the complaint."""
    (folder / "bad.tar.zst").write_bytes(data)
    before = tree(folder)
    answer = handoff("verify", "bad.tar.zst", "--into", "there", *words)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert answer.stdout == "" and answer.stderr.count("\n") == 1, answer.stderr
    assert tree(folder) == before
    assert not (folder / "tmp" / "logbook.sqlite").exists()
    return answer.stderr


def test_a_good_bundle_of_this_kind_is_taken(handoff, tmp_path):
    (tmp_path / "good.tar.zst").write_bytes(stored_zstd(good_tar().bytes()))
    answer = handoff("verify", "good.tar.zst", "--into", "there")
    assert answer.returncode == 1 and (tmp_path / "there/files/train.py").exists(), answer.stderr


def test_tampered_contents_are_refused(handoff, tmp_path):
    data = good_tar().bytes()
    assert "files/train.py was changed" in refused(handoff, tmp_path, stored_zstd(data.replace(b"trained", b"trailed")))
    other = good_files() | {"files/more.py": b""}
    tar = Tar().file("manifest.json", manifest_of(good_files()))
    for path, contents in other.items():
        tar.file(path, contents)
    assert "does not list" in refused(handoff, tmp_path, stored_zstd(tar.bytes()))
    tar = Tar().file("manifest.json", manifest_of(other)).file("files/more.py", b"")
    assert "are missing" in refused(handoff, tmp_path, stored_zstd(tar.bytes()))
    assert "another one" in refused(handoff, tmp_path, stored_zstd(data), "--sha256", "0" * 64)


def test_a_truncated_bundle_is_refused(handoff, work):
    assert pack(handoff).returncode == 0
    whole = (work / "train.tar.zst").read_bytes()
    (work / "tmp" / "logbook.sqlite").unlink()
    lengths = [0, 1, 4, 100, len(whole) // 2, len(whole) - 200, len(whole) - 1]
    for length in lengths:
        refused(handoff, work, whole[:length])
    plain = good_tar().bytes()
    for length in (512, 1024, 2000, len(plain) - 10240):
        refused(handoff, work, stored_zstd(plain[:length]))
    refused(handoff, work, whole + b"x")
    refused(handoff, work, whole + whole)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/anymps-escape",
        "../escape",
        "files/../../escape",
        "files/./train2.py",
        "files//train2.py",
        "files/TRAIN.py",
        "files/train.py.",
        "files/train.py ",
        "files/tra\u200bin.py",
        "files\\..\\escape",
        "c:escape",
        "files/train.py/inside",
        "files/\u202enip.exe",
        "Manifest.json",
    ],
)
def test_paths_that_lead_elsewhere_are_refused(handoff, tmp_path, path):
    files = good_files() | {path: b"escaped"}
    refused(handoff, tmp_path, stored_zstd(good_tar(files).bytes()))
    # Not in the manifest.
    refused(handoff, tmp_path, stored_zstd(good_tar().file(path, b"escaped").bytes()))


def test_entries_that_are_no_files_are_refused(handoff, tmp_path):
    manifest = manifest_of(good_files() | {"files/link/escape": b"escaped"})
    tar = Tar().file("manifest.json", manifest)
    tar.other("files/link", tarfile.SYMTYPE, str(tmp_path)).file("files/link/escape", b"escaped")
    assert "no regular file" in refused(handoff, tmp_path, stored_zstd(tar.bytes()))
    for kind, target in [(tarfile.LNKTYPE, "/etc/passwd"), (tarfile.FIFOTYPE, ""), (tarfile.CHRTYPE, "")]:
        tar = Tar().file("manifest.json", manifest_of(good_files())).other("files/train.py", kind, target)
        assert "no regular file" in refused(handoff, tmp_path, stored_zstd(tar.bytes()))
    twice = good_tar().file("files/train.py", good_files()["files/train.py"])
    assert "twice" in refused(handoff, tmp_path, stored_zstd(twice.bytes()))


def test_what_is_no_bundle_is_refused(handoff, tmp_path):
    assert "manifest" in refused(handoff, tmp_path, stored_zstd(Tar().file("files/a", b"").bytes()))
    assert "Unrecognized archive format" in refused(handoff, tmp_path, os.urandom(5000))
    assert "manifest" in refused(handoff, tmp_path, stored_zstd(Tar().file("manifest.json", b"{]").bytes()))
    assert "version 2" in refused(handoff, tmp_path, stored_zstd(good_tar(version=2).bytes()))
    assert "golden" in refused(handoff, tmp_path, stored_zstd(good_tar(golden=None).bytes()))
    assert handoff("verify", "nothing.tar.zst").returncode == 2


def test_bombs_are_refused(handoff, tmp_path):
    huge = {"path": "files/zeros", "bytes": 1 << 40, "sha256": "0" * 64, "executable": False}
    assert "allowed" in refused(handoff, tmp_path, stored_zstd(listing(huge)))
    # The header promises a gigabyte that the manifest does not.
    entry = tarfile.TarInfo("files/train.py")
    entry.size = 1 << 30
    head = Tar().file("manifest.json", manifest_of(good_files()))
    head.file("environment.json", good_files()["environment.json"])
    data = head.buffer.getvalue() + entry.tobuf(tarfile.PAX_FORMAT)
    assert "not as long" in refused(handoff, tmp_path, stored_zstd(data, zeros=1 << 30))
    # Zeros after the end.
    assert "appended" in refused(handoff, tmp_path, stored_zstd(good_tar().bytes(), zeros=1 << 30))
    entry = tarfile.TarInfo("manifest.json")
    entry.size = 1 << 32
    assert "too large" in refused(handoff, tmp_path, stored_zstd(entry.tobuf(tarfile.PAX_FORMAT), zeros=1 << 30))


def listing(listed: dict) -> bytes:
    whole = json.loads(manifest_of(good_files()))
    whole["files"].append(listed)
    return Tar().file("manifest.json", json.dumps(whole).encode()).bytes()


def test_a_target_that_cannot_be_written_is_left_alone(handoff, tmp_path):
    (tmp_path / "good.tar.zst").write_bytes(stored_zstd(good_tar().bytes()))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    for target in ("/proc/anymps-there", "good.tar.zst/there", "full", "good.tar.zst"):
        before = tree(tmp_path)
        answer = handoff("verify", "good.tar.zst", "--into", target, "--quiet")
        assert answer.returncode == 2 and answer.stderr.count("\n") == 1, answer.stderr
        assert tree(tmp_path) == before


def test_a_kill_leaves_no_half_of_it(anymps, environment, tmp_path):
    files = good_files() | {f"files/{i}.bin": random.Random(i).randbytes(20_000) for i in range(100)}
    (tmp_path / "large.tar.zst").write_bytes(stored_zstd(good_tar(files).bytes()))
    variables = environment | {"ANYMPS_LOGBOOK": str(tmp_path / "tmp" / "logbook.sqlite")}
    seen = 0
    for attempt in range(5):
        target = tmp_path / f"there-{attempt}"
        words = [anymps, "handoff", "verify", "large.tar.zst", "--into", target.name, "--fresh"]
        child = subprocess.Popen(
            words, cwd=tmp_path, env=variables, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        while child.poll() is None and not list(tmp_path.glob(f".{target.name}.*/files")) and not target.exists():
            time.sleep(0.0005)
        child.kill()
        child.wait()
        seen += not target.exists()
        if target.exists():
            assert sum(1 for p in target.rglob("*") if p.is_file()) == len(files) + 1
    assert seen > 0
    for left in tmp_path.glob(".there-*"):
        shutil.rmtree(left)


def test_commands_that_cannot_be_handed_on(handoff, work):
    for command in (["--", "true"], ["--", sys.executable, "-c", "1"], ["--", sys.executable, "nothing.py"], []):
        answer = handoff("pack", "-o", "x.tar.zst", "--owner", "ada", *command)
        assert answer.returncode == 2 and not (work / "x.tar.zst").exists(), answer.stderr
    assert handoff("pack", "-o", "x.tar.zst", "--", sys.executable, "train.py").returncode == 2  # no owner
