"""A C++ extension of PyTorch's classes for Metal libraries, compiled against each release."""

import pathlib
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.sliced

HERE = pathlib.Path(__file__).parent

# The headers of the release, as its own kernels begin, and a kernel of each kind.
KERNELS = """
struct twice_functor { template <typename T> T operator()(const T x) { return static_cast<T>(2 * x); } };
REGISTER_UNARY_OP(twice, float, float);
REGISTER_UNARY_OP(twice, int, int);
struct times_functor {
  template <typename T> T operator()(const T x, const T by) { return static_cast<T>(x * by); }
};
REGISTER_UNARY_ALPHA_OP(times, float, float, float);
struct less_functor {
  template <typename T> T operator()(const T x, const T y) { return static_cast<T>(x - y); }
};
REGISTER_BINARY_OP(less, float, float);
struct less_so_often_functor {
  template <typename T> T operator()(const T x, const T y, const T alpha) { return static_cast<T>(x - alpha * y); }
};
REGISTER_BINARY_ALPHA_OP(less_so_often, float, float, float);
struct both_functor {
  template <typename T> T operator()(const T x, const T y, const T z) { return static_cast<T>(x + y * z); }
};
REGISTER_TERNARY_OP(both, float, float);
"""

PROGRAM = """
import pathlib, sys, torch
torch.ops.load_library(sys.argv[1])
kernels = torch.ops.iterator_kernels
kernels.set_source(pathlib.Path(sys.argv[2]).read_text())
torch.manual_seed(0)

def as_it_lies(x):
    '''On the device, with the same strides; a number stays on the CPU.'''
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="mps").copy_(x) if x.dim() else x

def check(name, expected, *inputs, alpha=None, out=None):
    on_device = [as_it_lies(x) for x in inputs]
    result = torch.zeros(expected.shape, device="mps") if out is None else out
    kernels.execute(name, result, on_device, alpha)
    torch.testing.assert_close(result.cpu(), expected.float())

wide = torch.randn(6, 40)
row, one, half = torch.randn(40), torch.randn(1), torch.randn(6, 40).half()
for x in (wide, wide[:, ::2], torch.randn(1), torch.randn(700, 800)):
    check("twice", 2 * x, x)
    check("times", 3 * x, x, alpha=3.0)
transposed = torch.zeros(40, 6, device="mps").T
check("twice", 2 * wide, wide, out=transposed)
many = torch.randn(700, 800)
for x, y in ((wide, wide.flip(0)), (wide, row), (row, wide), (wide, one), (one, wide), (wide, half), (half, wide),
             (many, many.flip(0)), (half, one), (wide, torch.tensor(2)), (torch.tensor(2.5), wide)):
    check("less", x - y, x, y)
    check("less_so_often", x - 3 * y.float(), x, y, alpha=3.0)
    check("less", x - y, x, y, out=torch.zeros(tuple((x - y).shape)[::-1], device="mps").T)
for x, y, z in ((wide, wide + 1, wide * 2), (wide, row, one), (wide, half, wide), (half, row, wide)):
    check("both", x + y * z, x, y, z)
print("ok")
"""


@pytest.fixture(scope="session")
def extension(installed, tmp_path_factory):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    torch = installed.packages / "torch"
    library = tmp_path_factory.mktemp(f"extension{installed.release}") / "iterator_kernels.so"
    command = [compiler, "-std=c++20", "-shared", "-fPIC", HERE / "iterator_kernels.cpp", "-o", library]
    command += [f"-I{torch / part}" for part in ("include", "include/torch/csrc/api/include")]
    subprocess.run(command, check=True)
    return library


def as_one_file(include: pathlib.Path, header: str, pasted: set[str]) -> str:
    """With the headers that it includes, each once: a source in C++ has nobody to paste them."""
    pasted.add(header)
    lines = []
    for line in (include / header).read_text().splitlines():
        included = re.match(r"\s*#include <(c10/metal/.*)>", line)
        if included is None:
            lines.append("" if line.strip() == "#pragma once" else line)
        elif included[1] not in pasted:
            lines.append(as_one_file(include, included[1], pasted))
    return "\n".join(lines)


def test_kernels_over_iterators(installed, extension, tmp_path):
    headers = as_one_file(installed.packages / "torch" / "include", "c10/metal/indexing.h", set())
    source = tmp_path / "kernels.metal"
    source.write_text("#include <metal_stdlib>\n" + headers + KERNELS)
    finished = installed.run("python", "-c", PROGRAM, extension, source)
    assert finished.stdout == "ok\n"
