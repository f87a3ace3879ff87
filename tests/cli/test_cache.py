import pathlib

TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is the cache of anymps.\n"


def fill(folder: pathlib.Path) -> None:
    (folder / "objects").mkdir(parents=True)
    (folder / "CACHEDIR.TAG").write_text(TAG)
    (folder / "objects" / "a").write_bytes(b"x" * 2048)


def test_info_and_clear(call, environment):
    folder = pathlib.Path(environment["ANYMPS_CACHE"])
    assert "does not exist" in call("cache", "info").stdout
    fill(folder)
    assert call("cache", "info").stdout == f"{folder}  2.0 KiB in 1 file\n"
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
