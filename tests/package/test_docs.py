"""Commands in the documents run, and what they point to is there."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


def prose(page):
    """The lines that can be wrapped: no tables, and nothing that is shown as it is."""
    fenced = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("|", "    ", "<")):
            yield line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_prose_is_wrapped(page):
    assert [line for line in prose(page) if len(line) > 120] == []


def test_the_index_names_every_page_once():
    index = (ROOT / "docs/README.md").read_text()
    pages = [page.name for page in PAGES if page.parent.name == "docs" and page.name != "README.md"]
    assert {name: index.count(f"]({name})") for name in pages} == dict.fromkeys(pages, 1)


def test_the_architecture_names_every_folder():
    table = (ROOT / "src/rooms.tsv").read_text().splitlines()
    folders = [line.split("\t")[0] for line in table if not line.startswith("#")]
    text = (ROOT / "docs/architecture.md").read_text()
    assert [folder for folder in folders if f"| `{folder}` |" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for target in re.findall(r"`?make ([a-z-]+)", page.read_text()):
        if target in {"it", "way", "of", "sense"}:
            continue
        assert target in targets, target


def shell_commands():
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL):
            for line in block.splitlines():
                if line.strip() and not line.startswith((". ", "#")):
                    yield pytest.param(line, id=f"{page.name}: {line[:40]}")


@pytest.mark.parametrize("command", list(shell_commands()))
def test_shell_blocks_run(command):
    environment = {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
    subprocess.run(["bash", "-c", command], check=True, cwd=ROOT, env=environment, timeout=300)
