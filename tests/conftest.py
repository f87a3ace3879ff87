"""Metal libraries: those that are made here, and the genuine ones. Where the guides lie."""

import importlib.util
import os
import pathlib
import shutil
import sys

import pytest
import slices

ROOT = pathlib.Path(__file__).parents[1]
CONTAINER = pathlib.Path(__file__).parent / "metal" / "container.py"


def pytest_addoption(parser):
    # Here, as pytest reads no options from folders further down.
    folder = ROOT.parent / "shared" / "seeds"
    parser.addoption("--guides", type=pathlib.Path, default=folder, metavar="DIR", help="the texts for tests/guides")


def pytest_collection_modifyitems(config, items):
    """Of a suite's tests that are marked `sliced`, a change is gated by every third; by name each of them runs."""
    if "ANYMPS_TEST_SLICE" not in os.environ:
        return
    marked = [item for item in items if item.get_closest_marker("sliced")]
    left_out = set(marked) - set(slices.part_of(marked, slices.chosen("1/3")))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def metal():
    """The module that makes them."""
    specification = importlib.util.spec_from_file_location("metal_container", CONTAINER)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def library_bytes(metal) -> bytes:
    """A library with one kernel: `scale(out, factor)` sets every element."""
    return metal.container({"scale": metal.bitcode()})


@pytest.fixture(scope="session")
def genuine_libraries() -> list[pathlib.Path]:
    """What Apple's compiler made; `make test` brings them."""
    folder = os.environ.get("ANYMPS_GENUINE_KERNELS")
    if not folder:
        pytest.skip("ANYMPS_GENUINE_KERNELS names no folder; tools/genuine_kernels.py FOLDER makes one")
    return sorted(pathlib.Path(folder).glob("*.metallib"))


@pytest.fixture(scope="session")
def genuine_library_of(genuine_libraries):
    """The first library of a release, by the release; those after 2.13 lie in folders beside it."""

    def of(release: str) -> pathlib.Path:
        folder = genuine_libraries[0].parent
        found = sorted((folder if release == "2.13" else folder / release).glob(f"torch-{release}.*-0.metallib"))
        if not found:
            pytest.skip(f"there is no library of PyTorch {release}; `make test` brings it")
        return found[0]

    return of


@pytest.fixture(scope="session")
def anymps() -> str:
    """The executable: $ANYMPS_EXECUTABLE, else the one of the environment that runs the tests."""
    chosen = os.environ.get("ANYMPS_EXECUTABLE") or str(pathlib.Path(sys.executable).parent / "anymps")
    if shutil.which(chosen) is None:
        pytest.fail(f"no anymps executable at {chosen}; build first, or set ANYMPS_EXECUTABLE")
    return chosen
