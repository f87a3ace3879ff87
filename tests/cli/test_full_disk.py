"""A disk that is full is told of, and what was there before stays."""

import json
import resource
import signal
import subprocess
import sys

import pytest
import report_documents as documents

FULL = "/dev/full"


@pytest.fixture
def onto_full_disk(anymps, environment, tmp_path):
    """Runs the executable with standard output on a full disk."""

    def call(*words) -> subprocess.CompletedProcess:
        with open(FULL, "w") as full:
            return subprocess.run(
                [anymps, *map(str, words)],
                env=environment,
                cwd=tmp_path,
                stdout=full,
                stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=120,
            )

    return call


@pytest.fixture
def small_disk():
    """What a process must do before it starts so that no file grows beyond a kilobyte."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    return limit


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["check", "--rules"],
        ["completion", "bash"],
        ["coverage", "torch.linalg.eigh"],
        ["coverage", "--lacking", "2.13"],
        ["env"],
        ["log"],
        ["log", "export"],
        ["macs"],
        ["macs", "--json"],
        ["metal", "list", "add.metal"],
        ["metal", "disasm", "add.metal", "add"],
        ["metal", "verify", "add.metal"],
        ["sr", "--help"],
    ],
    ids=" ".join,
)
def test_standard_output(onto_full_disk, tmp_path, words):
    (tmp_path / "add.metal").write_text("kernel void add(device float* o) { o[0] += 1; }")
    finished = onto_full_disk(*words)
    assert finished.returncode != 0
    assert "cannot write to standard output: No space left on device" in finished.stderr


def test_what_a_run_ends_with(call, tmp_path):
    finished = call("run", "--json", FULL, "--", sys.executable, "-c", "pass")
    assert finished.returncode != 0
    assert f"cannot write {FULL}: No space left on device" in finished.stderr


def test_a_report_is_written_whole_or_not_at_all(anymps, environment, small_disk, tmp_path):
    document, page = tmp_path / "document.json", tmp_path / "page.html"
    document.write_text(json.dumps(documents.sweep()))
    page.write_text("the page before")
    before = sorted(tmp_path.iterdir())
    words = [anymps, "report", "--from", document, "-o", page]
    finished = subprocess.run(
        words, env=environment, cwd=tmp_path, preexec_fn=small_disk, capture_output=True, text=True, timeout=120
    )
    assert finished.returncode != 0
    assert f"cannot write {page}: File too large" in finished.stderr
    assert page.read_text() == "the page before"
    assert sorted(tmp_path.iterdir()) == before


def test_a_link_stays_one(call, tmp_path):
    document, page = tmp_path / "document.json", tmp_path / "page.html"
    document.write_text(json.dumps(documents.sweep()))
    (tmp_path / "link.html").symlink_to(page)
    assert call("report", "--from", document, "-o", tmp_path / "link.html").returncode == 0
    assert (tmp_path / "link.html").is_symlink() and page.read_text().startswith("<!doctype html>")
