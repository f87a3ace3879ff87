"""The order of the folders in src/ (src/rooms.tsv), held against every include and every namespace."""

import re
import shutil
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
MOST_FILES = 40
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
# With what stands in it up to the first line that begins with a brace: enough to know forward declarations.
OUR_NAMESPACE = re.compile(r"^namespace (anymps[\w:]*) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
FORWARD_DECLARATIONS = re.compile(r"(?:\s*(?:class|struct) \w+;)+\s*")


def read_table(source: Path) -> dict[str, set[str]]:
    rooms = {}
    for line in (source / "rooms.tsv").read_text().splitlines():
        if not line.startswith("#"):
            folder, what, never = line.split("\t")
            assert what and folder not in rooms, f"{folder} is there twice, or without what it is"
            rooms[folder] = set(never.split())
    return rooms


def sources(source: Path) -> list[Path]:
    # The standard library of Metal is embedded as text, and written in Metal.
    stdlib = source / "metal" / "stdlib"
    return [path for path in sorted(source.rglob("*")) if path.suffix in (".h", ".cpp") and stdlib not in path.parents]


def wrong_includes(source: Path) -> list[str]:
    rooms = read_table(source)
    place = {folder: at for at, folder in enumerate(rooms)}
    wrong = []
    for path in sources(source):
        folder = path.relative_to(source).parent.as_posix()
        if folder not in place:
            wrong.append(f"{folder} is not in src/rooms.tsv")
            continue
        for header in INCLUDE.findall(path.read_text()):
            if not (source / header).exists():
                continue
            other = Path(header).parent.as_posix()
            if place.get(other, len(place)) > place[folder] or any(
                other == room or other.startswith(room + "/") for room in rooms[folder]
            ):
                wrong.append(f"{path.relative_to(source)} includes {header}")
    return wrong


def wrong_namespaces(source: Path) -> list[str]:
    wrong = []
    for path in sources(source):
        expected = "::".join(["anymps", *path.relative_to(source).parent.parts])
        for match in OUR_NAMESPACE.finditer(path.read_text()):
            name, body = match[1], match[2]
            if FORWARD_DECLARATIONS.fullmatch(body) or name == expected or name.startswith(expected + "::"):
                continue
            wrong.append(f"{path.relative_to(source)} has namespace {name}, not {expected}")
    return wrong


def test_no_folder_includes_one_that_stands_above_it():
    assert wrong_includes(SOURCE) == []


def test_namespaces_follow_the_folders():
    assert wrong_namespaces(SOURCE) == []


def test_the_table_names_the_folders_that_there_are():
    folders = {path.relative_to(SOURCE).parent.as_posix() for path in sources(SOURCE)}
    assert set(read_table(SOURCE)) == folders


def test_no_folder_holds_more_files_than_a_person_looks_through():
    folders = [folder for folder in [SOURCE, *SOURCE.rglob("*")] if folder.is_dir()]
    assert {
        folder: len(files)
        for folder in folders
        if len(files := [path for path in folder.iterdir() if path.is_file()]) > MOST_FILES
    } == {}


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("gpu/support/upwards.h", '#include "lab/base/log.h"\n', "gpu/support/upwards.h includes lab/base/log.h"),
        (
            "metal/interpret/witness.cpp",
            '#include "metal/lower/pipeline.h"\n',
            "metal/interpret/witness.cpp includes metal/lower/pipeline.h",
        ),
        ("gpu/newcomer/thing.h", "", "gpu/newcomer is not in src/rooms.tsv"),
    ],
)
def test_a_wrong_include_is_found(tmp_path, file, text, said):
    shutil.copytree(SOURCE, tmp_path / "src")
    planted = tmp_path / "src" / file
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(text)
    assert wrong_includes(tmp_path / "src") == [said]


@pytest.mark.parametrize("name", ["anymps::lab", "anymps::lab::trace", "anymps::gpu::support"])
def test_a_wrong_namespace_is_found(tmp_path, name):
    shutil.copytree(SOURCE, tmp_path / "src")
    (tmp_path / "src/lab/base/planted.h").write_text(
        f"namespace {name} {{\nclass Declared;\nint defined();\n}}  // namespace {name}\n"
    )
    assert wrong_namespaces(tmp_path / "src") == [f"lab/base/planted.h has namespace {name}, not anymps::lab::base"]
