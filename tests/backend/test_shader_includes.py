"""What the source of a shader may include: PyTorch's headers and Metal's, and nothing else of the disk."""

import os
from pathlib import Path

import pytest
import torch

SECRET = "not_for_a_shader_4711"
KERNEL = "kernel void k(device float* o) { o[0] = 1; }"


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text(SECRET)
    return path


def out_of_the_folder(path: Path) -> str:
    return os.path.relpath(path, Path(torch.__file__).parent / "include")


@pytest.mark.parametrize("line", ['#include "{}"', "#include <{}>", '  #include  "{}"', '\t#include "{}" // {}'])
@pytest.mark.parametrize("name_of", [str, out_of_the_folder, lambda path: f"c10/../{out_of_the_folder(path)}"])
def test_no_file_outside_of_the_headers_is_quoted(secret, line, name_of):
    source = line.replace("{}", name_of(secret)) + "\n" + KERNEL
    with pytest.raises(SyntaxError) as refused:
        torch.mps.compile_shader(source)
    assert SECRET not in str(refused.value)
    assert "file not found" in str(refused.value)


def test_the_environment_is_not_quoted(monkeypatch):
    monkeypatch.setenv("ANYMPS_TEST_SECRET", SECRET)
    with pytest.raises(SyntaxError) as refused:
        torch.mps.compile_shader('#include "/proc/self/environ"\n' + KERNEL)
    assert SECRET not in str(refused.value)


def test_pytorchs_own_headers_are_found():
    source = "#include <c10/metal/utils.h>\n#include <c10/../c10/metal/special_math.h>\n" + KERNEL
    x = torch.zeros(1, device="mps")
    torch.mps.compile_shader(source).k(x)
    assert x.item() == 1
