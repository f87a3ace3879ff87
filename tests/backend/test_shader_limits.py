"""What no GPU could do is an error in words."""

import pytest
import torch

SOURCE = "kernel void k(device float* o, uint i [[thread_position_in_grid]]) { if (i == 0) o[0] = 1; }"


def test_a_grid_that_cannot_be_counted():
    x = torch.zeros(1, device="mps")
    kernel = torch.mps.compile_shader(SOURCE).k
    with pytest.raises(RuntimeError, match="a grid of 2147483648 x 2147483648 x 2147483648 threads, more than can be"):
        kernel(x, threads=(2**31, 2**31, 2**31))
        torch.mps.synchronize()


def test_a_threadgroup_that_cannot_be_counted():
    x = torch.zeros(1, device="mps")
    kernel = torch.mps.compile_shader(SOURCE).k
    with pytest.raises(ValueError, match="Threadgroup size exceeds 1024 limit"):
        kernel(x, threads=(8, 8, 8), group_size=(2**22, 2**21, 2**21))


def test_a_character_that_ends_texts():
    with pytest.raises(SyntaxError, match="program_source:2:1: error: the source has a NUL character"):
        torch.mps.compile_shader(f"// one\n// \0 two\n{SOURCE}")
    named = 'kernel [[host_name("a\\0b")]] void k(device float* o) { o[0] = 1; }'
    with pytest.raises(SyntaxError, match="the name of a kernel is empty or has a NUL character"):
        torch.mps.compile_shader(named)


@pytest.mark.parametrize("name", ["run", "spawn", "sinf", "main", "system"])
def test_a_kernel_may_have_any_name(name):
    x = torch.zeros(4, device="mps")
    library = torch.mps.compile_shader(
        f"kernel void {name}(device float* o, uint i [[thread_position_in_grid]]) {{ o[i] = i; }}"
    )
    getattr(library, name)(x)
    assert x.tolist() == [0, 1, 2, 3]
