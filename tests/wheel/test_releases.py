"""The wheel beside each release of PyTorch, where there is no compiler, no LLVM and no checkout: make test-wheel."""

import os
import pathlib
import subprocess
import sys

import pytest
from additions import ADDITIONS

ROOT = pathlib.Path(__file__).parents[2]

TRAIN = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 4))
model = model.to("mps")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
pictures, labels = torch.randn(16, 3, 8, 8, device="mps"), torch.arange(16, device="mps") % 4
for step in range(30):
    loss = torch.nn.functional.cross_entropy(model(pictures), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.device, loss.item() < 0.1)
"""

# Releases before 2.13 have it in Python.
GROUP_NORM = """
import torch
torch.manual_seed(0)
norm, x = torch.nn.GroupNorm(2, 4), torch.randn(3, 4, 5)
on_mps = torch.nn.GroupNorm(2, 4, device="mps")
there, here = x.to("mps").requires_grad_(), x.requires_grad_()
on_mps(there).square().sum().backward()
norm(here).square().sum().backward()
torch.testing.assert_close(there.grad.cpu(), here.grad)
torch.testing.assert_close(on_mps.weight.grad.cpu(), norm.weight.grad)
print(on_mps(torch.ones(0, 4, 5, device="mps")).shape)
"""

SHADER = """
import torch
library = torch.mps.compile_shader('''
#include <metal_stdlib>
using namespace metal;
kernel void scaled(device float* out, constant float& factor, uint i [[thread_position_in_grid]]) {
  out[i] = factor * precise::sin(float(i));
}''')
out = torch.empty(100, device="mps")
library.scaled(out, 3.0)
print(torch.allclose(out.cpu(), 3 * torch.arange(100.0).sin(), atol=1e-6))
"""

METALLIB = """
import sys, torch, anymps
library = anymps.load_metallib(sys.argv[1])
out = torch.ones(8, device="mps")
library.scale(out, 3.0)
print(out.tolist())
"""

COMPILED = """
import torch
@torch.compile
def normalised(x):
    return torch.nn.functional.gelu((x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True))
x = torch.randn(32, 64, device="mps")
torch.testing.assert_close(normalised(x), normalised._torchdynamo_orig_callable(x))
print(normalised(x).device)
"""


def test_no_compiler_and_no_checkout_are_in_reach(installed):
    code = "import shutil, sys; print([shutil.which(name) for name in ('cc', 'g++', 'clang', 'llvm-as-19')], sys.path)"
    said = installed.python(code)
    assert said.startswith("[None, None, None, None]") and str(ROOT) not in said


def test_what_is_installed_needs_no_more_than_pytorch_does(installed):
    libraries = installed.packages / "anymps" / "lib"
    binaries = [installed.bin / "anymps", libraries / "libanymps_metal.so", libraries / "anymps-sandbox"]
    for binary in [*binaries, *(libraries / f"torch{installed.release}").iterdir()]:
        needed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        ours = [line for line in needed.splitlines() if "libcu" not in line and "libnv" not in line]
        assert not [line for line in ours if "not found" in line], binary
        assert not [line for line in ours if "llvm" in line.lower() or "clang" in line.lower()], binary


def test_import_torch_is_enough(installed):
    code = "import torch; print(torch.__version__, torch.backends.mps.is_available(), torch.ones(2, device='mps') * 3)"
    said = installed.python(code)
    assert said.startswith(f"{installed.release}.") and said.endswith("True tensor([3., 3.], device='mps:0')")


def test_a_training_step(installed):
    assert installed.python(TRAIN) == "mps:0 True"


def test_group_normalisation(installed):
    assert installed.python(GROUP_NORM) == "torch.Size([0, 4, 5])"


def test_a_shader(installed):
    assert installed.python(SHADER) == "True"


def test_a_compiled_library(installed, library_bytes, tmp_path):
    library = tmp_path / "scale.metallib"
    library.write_bytes(library_bytes)
    assert installed.run("python", "-c", METALLIB, library).stdout.strip() == str([3.0] * 8)


def test_a_compiled_function(installed):
    assert installed.python(COMPILED) == "mps:0"


def test_the_examples_of_the_readme(installed):
    run = installed.run("anymps", "run", "examples/train_classifier.py", "--epochs", "1")
    assert "speed" in run.stderr and "Apple M2 (anymps)" in run.stderr
    small = installed.run("anymps", "run", "--mac", "m2-8gb", "examples/train_classifier.py", "--epochs", "1")
    assert "limit of " in small.stderr
    assert "fits" in installed.run("anymps", "size", "examples/train_classifier.py", "--epochs", "1").stdout
    said = installed.run("anymps", "env").stdout
    assert f"lib/torch{installed.release}/libanymps.so" in said


def test_check(installed):
    clean = installed.run("anymps", "check", "--fail-on", "error", "examples/train_classifier.py", "--epochs", "1")
    assert f"torch {installed.release}." in clean.stderr
    installed.run("anymps", "check", "examples/not_ready.py", status=1)


def test_sweep_and_doctor(installed):
    sweep = ["anymps", "sweep", "--mac", "m1-8gb", "--batch-arg", "--batch-size", "--from", "4", "--to", "8"]
    sweep += ["--steps", "4", "--verify-steps", "8"]
    said = installed.run(*sweep, "--", "python", "examples/lab/vit_tiny.py", "--depth", "1").stdout
    assert "m1-8gb" in said
    doctor = installed.run("anymps", "doctor", "--json", check=False)
    assert doctor.returncode in (0, 1), doctor.stderr
    assert f'"{installed.release}.' in doctor.stdout


def test_super_resolution(installed):
    assert "upscale" in installed.run("anymps", "sr", "--help").stdout


@pytest.mark.sliced
@pytest.mark.parametrize("name", ADDITIONS)
def test_what_a_release_added_is_there_from_then_on(installed, name):
    addition = ADDITIONS[name]
    has_it = [int(part) for part in installed.release.split(".")] >= [int(part) for part in addition.since.split(".")]
    run = installed.run("python", "-c", addition.code, check=False)
    if has_it:
        assert run.returncode == 0 and run.stdout.strip() == addition.prints, run.stdout + run.stderr
    elif run.returncode == 0:
        assert run.stdout.strip() == addition.before
    else:
        assert run.stderr.strip().splitlines()[-1].startswith(addition.before), run.stderr


@pytest.mark.parametrize("part", ["add|mul|matmul|softmax|nn.functional.conv2d|sum|cumsum|sort|gather|exp|addmm"])
def test_a_slice_of_opinfo(installed, part):
    command = [ROOT / "tests/opinfo/run.py", "--ops", part, "--dtype", "float32", "--jobs", str(os.cpu_count())]
    said = installed.run("python", *command).stdout
    assert "agree" in said and "disagree" not in said and "error" not in said, said


def test_another_python_is_refused_by_pip(wheel, tmp_path):
    """So is another architecture: the wheel's name has both."""
    for platform in ("manylinux_2_35_riscv64", "musllinux_1_2_x86_64", "manylinux_2_28_x86_64"):
        command = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", tmp_path, "--only-binary=:all:"]
        finished = subprocess.run([*command, "--platform", platform, wheel], capture_output=True, text=True)
        assert finished.returncode == 1
        assert "is not a supported wheel on this platform" in finished.stderr
