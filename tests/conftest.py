"""Metal libraries that are made here."""

import importlib.util
import pathlib

import pytest

CONTAINER = pathlib.Path(__file__).parent / "metal" / "container.py"


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
