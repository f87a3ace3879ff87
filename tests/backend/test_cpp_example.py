"""A C++ program on libtorch gets the device by loading one shared library."""

import pathlib
import subprocess

import anymps
import torch

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "cpp"


def test_the_example_trains(tmp_path):
    prefix = torch.utils.cmake_prefix_path
    subprocess.run(
        ["cmake", "-S", EXAMPLE, "-B", tmp_path, f"-DTorch_DIR={prefix}/Torch", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"],
        check=True,
    )
    subprocess.run(["cmake", "--build", tmp_path, "--target", "anymps_example"], check=True)
    out = subprocess.run(
        [tmp_path / "anymps_example", anymps.library_path()], check=True, capture_output=True, text=True
    ).stdout
    assert out.startswith("device mps:0")


def test_a_missing_library_is_named(tmp_path):
    # Without the library libtorch itself must refuse the device: the example proves nothing otherwise.
    import sys

    code = "import torch; torch.zeros(1, device='mps')"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"ANYMPS": "0"})
    assert finished.returncode != 0
