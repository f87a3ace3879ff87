"""The lab killed in the middle: the logbook stays whole, and what was finished is not done again.

The gate kills it three times, `make test SLICE=1/1` fifty times.
"""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
import slices
from scripts import SWEPT

KILLS = 50 if slices.whole() else 3


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SWEPT)
    return path


def sweep_words(lab, script, to: int) -> list[str]:
    options = ("--batch-arg", "--batch-size", "--to", to, "--steps", 5, "--verify-steps", 8, "--json")
    return [*lab.words("sweep", *options), "--", "python", str(script)]


def begun(words, lab) -> subprocess.Popen:
    environment = lab.environment | {"ANYMPS": "0"}
    pipe = subprocess.PIPE

    def listen() -> None:
        # A shell that runs the tests in the background has them ignore it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return subprocess.Popen(
        words, env=environment, cwd=lab.folder, stdout=pipe, stderr=pipe, text=True, preexec_fn=listen
    )


def is_whole(path) -> bool:
    with sqlite3.connect(path) as database:
        return database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.sliced
def test_a_sweep_that_is_killed_goes_on_where_it_was(lab, script):
    words = sweep_words(lab, script, 4)
    chance = random.Random(0)
    logbook = lab.folder / "logbook.sqlite"
    kills = 0
    while True:
        process = begun(words, lab)
        try:
            _, errors = process.communicate(timeout=chance.uniform(0.05, 3) if kills < KILLS else 120)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            if logbook.exists():
                assert is_whole(logbook)
            continue
        assert process.returncode == 0, errors
        break
    assert kills > 0
    runs = [int(line) for line in (lab.folder / "runs.txt").read_text().split()]
    with sqlite3.connect(logbook) as database:
        (finished,) = database.execute("SELECT COUNT(*) FROM runs WHERE state = 'done'").fetchone()
        (points,) = database.execute("SELECT COUNT(*) FROM parts").fetchone()
        assert finished == 1
    # Sizes 1 to 4, and one of them again for longer; each kill may cost the one point that was at work.
    assert points == 4
    assert len(runs) <= points + kills
    assert is_whole(logbook)


@pytest.mark.sliced
def test_nothing_is_left_running_behind_a_killed_lab(lab, script):
    slow = script.with_name("slow.py")
    slow.write_text(SWEPT.replace("range(40)", "range(10**9)"))
    words = [*lab.words("sweep", "--batch-arg", "--batch-size", "--steps", str(10**8)), "--", "python", str(slow)]
    process = subprocess.Popen(words, env=lab.environment | {"ANYMPS": "0"}, cwd=lab.folder, stderr=subprocess.DEVNULL)
    runs = lab.folder / "runs.txt"
    deadline = time.monotonic() + 60
    while not runs.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(3)
    process.kill()
    process.wait()

    def still_there() -> bool:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if os.fsencode(slow) in path.read_bytes():
                    return True
        return False

    deadline = time.monotonic() + 20
    while still_there() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not still_there()


@pytest.mark.sliced
def test_interrupted_and_resumed(lab, script):
    words = sweep_words(lab, script, 4)
    process = begun(words, lab)
    runs = lab.folder / "runs.txt"
    deadline = time.monotonic() + 60
    while not (runs.exists() and len(runs.read_text().split()) >= 2) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert output == ""
    assert "the same command goes on" in errors
    again = begun(words, lab)
    _, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert "going on with run 1" in errors
    assert len(runs.read_text().split()) <= 6
