"""The source distribution, and what its build says where something is missing."""

import os
import pathlib
import subprocess
import sys
import tarfile

import pytest
import torch
import yaml

ROOT = pathlib.Path(__file__).parents[2]
MAKE = "import scikit_build_core.build as backend, sys; print(backend.build_sdist(sys.argv[1]))"


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    """It, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run([sys.executable, "-c", MAKE, folder], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(folder.glob("anymps-*.tar.gz"))) as packed:
        packed.extractall(folder, filter="data")
    return next(folder.glob("anymps-*/"))


def configure(sources, build, *options, **variables):
    command = ["cmake", "-S", sources, "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}", *options]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})


def test_it_has_all_that_is_compiled(sources, tmp_path):
    done = configure(sources, tmp_path)
    assert done.returncode == 0, done.stderr
    # A file that a step needs and nothing makes is an error of ninja's.
    planned = subprocess.run(["ninja", "-C", tmp_path, "-n"], capture_output=True, text=True)
    assert planned.returncode == 0, planned.stdout + planned.stderr


def test_missing_packages_are_named_in_one_sentence(sources, tmp_path):
    hidden = "-DCMAKE_IGNORE_PATH=/usr;/usr/include"
    done = configure(sources, tmp_path, hidden, "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF")
    said = " ".join(done.stderr.split())
    assert done.returncode == 1
    assert "anymps is built with packages that are not here: apt-get install libcli11-dev libfmt-dev" in said
    assert "libclang-19-dev" in said


def test_a_python_without_pytorch_is_told(sources, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    done = configure(sources, tmp_path / "build", f"-DPython_EXECUTABLE={tmp_path / 'bare/bin/python'}")
    said = " ".join(done.stderr.split())
    assert done.returncode == 1
    assert "anymps is built against an installed PyTorch, and" in said
    assert "has no torch: pip install torch" in said


def test_pytorch_is_found_from_the_environment_that_pip_builds_in(sources, tmp_path):
    """It hides the packages of the environment that asked, behind these variables."""
    hiding = tmp_path / "hiding"
    hiding.mkdir()
    (hiding / "sitecustomize.py").write_text(
        "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]"
    )
    # What pyproject.toml asks for is there.
    (hiding / "yaml").symlink_to(pathlib.Path(yaml.__file__).parent)
    hidden = {"PYTHONPATH": str(hiding), "PYTHONNOUSERSITE": "1"}
    done = configure(sources, tmp_path / "build", **hidden)
    assert done.returncode == 0, done.stderr
    # So is PyTorch's generator of code.
    release = ".".join(torch.__version__.split(".")[:2])
    made = subprocess.run(
        ["ninja", "-C", tmp_path / "build", f"torch{release}/backend/aoti_operators.cpp"],
        capture_output=True,
        text=True,
        env={**os.environ, **hidden},
    )
    assert made.returncode == 0, made.stdout
