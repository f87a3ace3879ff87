import os
import pathlib

import pytest

TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is the cache of anymps.\n"


def fill(folder: pathlib.Path) -> None:
    (folder / "objects").mkdir(parents=True)
    (folder / "CACHEDIR.TAG").write_text(TAG)
    (folder / "objects" / "a").write_bytes(b"x" * 2048)


def test_info_and_clear(call, environment):
    folder = pathlib.Path(environment["ANYMPS_CACHE"])
    assert "does not exist" in call("cache", "info").stdout
    fill(folder)
    assert call("cache", "info").stdout == (
        f"{folder}  2.0 KiB in 1 file\ncompiled code  0 B in 0 files, of at most 2.0 GiB\n"
    )
    assert call("cache", "clear").stdout == "freed 2.0 KiB in 1 file\n"
    assert not folder.exists()
    assert call("cache", "clear").stdout == "freed 0 B in 0 files\n"


def test_a_folder_of_somebody_else_is_refused(call, environment):
    folder = pathlib.Path(environment["ANYMPS_CACHE"])
    folder.mkdir()
    (folder / "thesis.tex").write_text("irreplaceable")
    answer = call("cache", "clear")
    assert answer.returncode == 1
    assert str(folder) in answer.stderr
    assert (folder / "thesis.tex").exists()
    assert "was not made by anymps" in call("cache", "info").stdout


def test_a_link_is_not_followed(call, environment, tmp_path):
    fill(tmp_path / "real")
    pathlib.Path(environment["ANYMPS_CACHE"]).symlink_to(tmp_path / "real")
    answer = call("cache", "clear")
    assert answer.returncode == 1
    assert "is a link" in answer.stderr
    assert (tmp_path / "real" / "objects" / "a").exists()


def fill_compiled(folder: pathlib.Path) -> list[pathlib.Path]:
    """Four entries of 1 KiB; the first is the one that was not used for longest."""
    fill(folder)
    entries = [folder / "compiled" / f"{number:02x}" / ("0" * 62) for number in (3, 1, 2, 0)]
    for hours, entry in enumerate(reversed(entries), start=1):
        entry.parent.mkdir(parents=True)
        entry.write_bytes(b"x" * 1024)
        then = entry.stat().st_mtime - 3600 * hours
        os.utime(entry, (then, then))
    return entries


def test_info_shows_compiled_code_and_its_limit(call, environment):
    fill_compiled(pathlib.Path(environment["ANYMPS_CACHE"]))
    shown = call("cache", "info", ANYMPS_CACHE_LIMIT="500mb").stdout.splitlines()
    assert shown[1] == "compiled code  4.0 KiB in 4 files, of at most 500.0 MiB"


def test_a_limit_that_is_no_size_is_said(call, environment):
    fill(pathlib.Path(environment["ANYMPS_CACHE"]))
    answer = call("cache", "info", ANYMPS_CACHE_LIMIT="much")
    assert answer.returncode == 0
    assert "ANYMPS_CACHE_LIMIT=much is not a size" in answer.stderr
    assert "2.0 GiB" in answer.stdout


@pytest.mark.parametrize(("words", "limit"), [(("--to", "2kb"), "1gb"), ((), "2kb")])
def test_trim_removes_what_was_not_used_for_longest(call, environment, words, limit):
    folder = pathlib.Path(environment["ANYMPS_CACHE"])
    entries = fill_compiled(folder)
    answer = call("cache", "trim", *words, ANYMPS_CACHE_LIMIT=limit)
    assert answer.stdout == "freed 2.0 KiB in 2 files; 2.0 KiB in 2 files left\n"
    assert [entry.exists() for entry in entries] == [False, False, True, True]
    assert (folder / "objects" / "a").exists()


def test_trim_refuses_what_it_must_not_touch(call, environment):
    folder = pathlib.Path(environment["ANYMPS_CACHE"])
    assert call("cache", "trim").stdout == "freed 0 B in 0 files; 0 B in 0 files left\n"
    assert not folder.exists()
    entries = fill_compiled(folder)
    assert call("cache", "trim", "--to", "much").returncode == 2
    (folder / "CACHEDIR.TAG").unlink()
    answer = call("cache", "trim", "--to", "0")
    assert answer.returncode == 1
    assert "was not made by anymps" in answer.stderr
    assert all(entry.exists() for entry in entries)
