"""Every block of code in the guides does on this device what docs/guides.md says of it."""

import importlib
import os
import pathlib
import random
import re

import guide_text
import pytest
import torch
from anymps import _C
from guide_cases import CASES, OUTCOMES, Runner

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "guides.md"
BLOCKS = [f"{guide}.{number}" for guide, count in guide_text.COUNTS.items() for number in range(1, count + 1)]


@pytest.fixture(scope="session")
def texts(request):
    folder = request.config.getoption("guides")
    found = guide_text.read(folder)
    if not found:
        pytest.skip(f"the guides are not there ({folder}); --guides DIR says where they are")
    return found


@pytest.fixture(scope="session")
def blocks(texts):
    cut = [block for guide, text in texts.items() for block in guide_text.blocks(guide, text)]
    return {f"{block.guide}.{block.number}": block for block in cut}


@pytest.fixture
def clean(tmp_path, monkeypatch):
    """Each block finds the process as the one before it found it."""
    monkeypatch.chdir(tmp_path)
    # PyTorch sets it where it is not set. In a folder of its own nothing is compiled already.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    # pytest's own variable says whether the test still runs.
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    environment = dict(os.environ)
    states = torch.get_rng_state(), torch.mps.get_rng_state(), random.getstate()
    torch.manual_seed(0)
    limit = _C.memory_limit()
    yield tmp_path
    torch.set_rng_state(states[0])
    torch.mps.set_rng_state(states[1])
    random.setstate(states[2])
    torch.mps.set_per_process_memory_fraction((limit or 0) / torch.mps.recommended_max_memory())
    assert _C.memory_limit() == limit
    assert {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"} == environment
    torch.mps.synchronize()


def test_all_blocks_are_found(texts, blocks):
    assert sorted(texts) == sorted(guide_text.COUNTS)
    assert {guide: len(guide_text.blocks(guide, text)) for guide, text in texts.items()} == guide_text.COUNTS
    assert sorted(OUTCOMES) == sorted(BLOCKS) and set(CASES) == {name for name in BLOCKS if OUTCOMES[name] != "not run"}


@pytest.mark.parametrize("name", [name for name in BLOCKS if OUTCOMES.get(name) != "not run"])
def test_block(name, blocks, clean):
    assert blocks[name].language == "python"
    CASES[name](Runner(blocks[name], clean))


def test_what_is_not_run_installs_something(blocks):
    for name in (name for name in BLOCKS if OUTCOMES[name] == "not run"):
        commands = [line for line in blocks[name].text.splitlines() if line.strip() and not line.startswith("#")]
        assert all(re.match("(conda|pip) install ", command) for command in commands)


def test_every_name_in_the_texts_is_there(texts):
    """In their prose and their lists, too, where two guides have no block at all."""
    names = {name for text in texts.values() for name in re.findall(r"\btorch(?:\.[A-Za-z_]\w*)+", text)}
    assert len(names) > 40

    def there(name: str) -> bool:
        value, path = torch, "torch"
        for part in name.split(".")[1:]:
            path += f".{part}"
            if not hasattr(value, part) and not importlib.util.find_spec(path):
                return False
            value = getattr(value, part, None) or importlib.import_module(path)
        return True

    assert sorted(name for name in names if not there(name)) == []


def rows() -> list[tuple[str, str, str]]:
    return re.findall(r"^\| (\d\.\d+) \| (.+?) \| (.+?) \|$", PAGE.read_text(), re.MULTILINE)


def test_the_page_has_a_row_for_each_block():
    assert [name for name, _, _ in rows()] == BLOCKS
    for name, _, here in rows():
        assert here.startswith(OUTCOMES[name]), f"{name} {OUTCOMES[name]}"


def test_the_rows_are_about_their_blocks(blocks):
    for name, about, _ in rows():
        names = re.findall("`([^`]+)`", about)
        assert names, f"{name} names nothing that its block has"
        assert [used for used in names if used not in blocks[name].text] == [], name
