"""A C++ extension written against PyTorch's MetalShaderLibrary.h is built, loaded and run without a change."""

import pathlib
import subprocess

import pytest
import torch
from torch.utils.cpp_extension import include_paths, library_paths

SOURCE = pathlib.Path(__file__).with_name("shader_extension.cpp")


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    built = tmp_path_factory.mktemp("extension") / "libshader_extension.so"
    libraries = [f"-L{path}" for path in library_paths()] + ["-ltorch", "-ltorch_cpu", "-lc10"]
    command = ["ccache", "g++", "-std=c++20", "-shared", "-fPIC", *(f"-I{path}" for path in include_paths())]
    subprocess.run([*command, str(SOURCE), "-o", str(built), *libraries], check=True)
    torch.ops.load_library(built)
    return torch.ops.shader_extension


@pytest.fixture
def path(library_bytes, tmp_path):
    file = tmp_path / "kernels.metallib"
    file.write_bytes(library_bytes)
    return str(file)


def test_its_kernels_run(extension, path):
    x = torch.zeros(1000, device="mps")
    extension.scale(x, 2.5, path)
    assert torch.equal(x.cpu(), torch.full((1000,), 2.5))
    x.zero_()
    extension.scale_corner(x[3:], 1.5, path)
    # The kernel's index is the first coordinate: two threads write to each of two places.
    assert x[:6].tolist() == [0, 0, 0, 1.5, 1.5, 0]


def test_it_is_told_what_a_kernel_is(extension, path):
    assert extension.facts(path) == [1, 1, 0, 256, 32, 256]


def test_errors_are_exceptions(extension, path):
    with pytest.raises(RuntimeError, match="Passed CPU tensor to MPS op"):
        extension.scale(torch.zeros(3), 1.0, path)
    with pytest.raises(RuntimeError, match=r"Failed to load metallib from '/nowhere': "):
        extension.scale(torch.zeros(3, device="mps"), 1.0, "/nowhere")
    with pytest.raises(NotImplementedError, match="PyTorch's own kernels as a Metal library"):
        extension.bundled()
