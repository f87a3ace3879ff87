"""The built wheel, in a virtual environment of its own."""

import os
import shutil
import subprocess

import pytest

TRAIN = """
import torch
model = torch.nn.Linear(4, 2).to("mps")
model(torch.randn(3, 4, device="mps")).sum().backward()
print(model.weight.grad.device)
"""


def test_installs_works_and_leaves_no_trace(wheel, environment):
    before = environment.files()
    environment.pip("install", "--no-deps", wheel)
    assert environment.run("python", "-c", TRAIN).stdout.strip() == "mps:0"
    assert environment.run("anymps", "run", "--quiet", "-m", "timeit", "-n1", "import torch").returncode == 0
    assert "anymps" in environment.run("anymps", "env").stdout

    environment.pip("uninstall", "-y", "anymps")
    assert environment.files() == before
    code = "import torch; print(torch.backends.mps.is_available())"
    finished = environment.run("python", "-c", code)
    assert finished.stdout.strip() == "False" and finished.stderr == ""


@pytest.mark.parametrize("version", ["2.16.0.dev20261101", "2.10.0"])
def test_a_release_that_is_not_known_is_refused_in_one_line(wheel, environment, version):
    environment.pip("install", "--no-deps", wheel)
    environment.calls_itself_torch(version)
    finished = environment.run("python", "-c", "import torch; print(torch.ones(1).item())")
    assert finished.stdout.strip() == "1.0"
    assert finished.stderr.strip() == f"anymps: this copy is for torch 2.13, and torch is {version}; stepping aside"


def test_a_patch_release_works(wheel, environment):
    environment.pip("install", "--no-deps", wheel)
    environment.calls_itself_torch("2.13.7+cu130")
    assert environment.run("python", "-c", TRAIN).stdout.strip() == "mps:0"


@pytest.mark.parametrize("part", ["libanymps.so", "_C.*.so", ""], ids=["device", "module", "all"])
def test_half_an_installation_is_told_in_one_line(wheel, environment, part):
    environment.pip("install", "--no-deps", wheel)
    folder = environment.packages / "anymps" / "lib" / "torch2.13"
    if part:
        next(folder.glob(part)).unlink()
    else:
        shutil.rmtree(folder)
    finished = environment.run("python", "-c", "import torch; print(torch.ones(1).item())")
    assert finished.stdout.strip() == "1.0"
    line = finished.stderr.strip()
    assert line.startswith("anymps: ") and line.endswith("; stepping aside") and "\n" not in line


def test_needs_no_library_of_the_build_machine(wheel, environment):
    environment.pip("install", "--no-deps", wheel)
    libraries = environment.packages / "anymps" / "lib"
    release = libraries / "torch2.13"
    for binary in (environment.bin / "anymps", libraries / "libanymps_metal.so", *release.iterdir()):
        needed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        assert "not found" not in needed
        assert not [word for word in ("fmt", "spdlog", "CLI11", "LLVM", "clang") if word in needed]


def test_the_engine_exports_its_entry_points_alone(wheel, environment):
    """Another LLVM in the process, Triton's say, must not meet ours."""
    environment.pip("install", "--no-deps", wheel)
    library = environment.packages / "anymps" / "lib" / "libanymps_metal.so"
    names = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1] for line in names.splitlines()}
    assert symbols == {"anymps_metal_plugin", "anymps_metal_tool", "anymps_metal_sandbox"}


def test_without_pytorch_the_command_says_so(wheel, environment, tmp_path):
    environment.pip("install", "--no-deps", wheel)
    for link in environment.packages.glob("torch*"):
        link.unlink()
    said = environment.run("anymps", "env").stdout
    assert "not available: torch cannot be imported: ModuleNotFoundError: No module named 'torch'" in said
    script = tmp_path / "script.py"
    script.write_text("import torch\n")
    finished = environment.run("anymps", "run", script, check=False)
    assert finished.returncode == 1
    assert "ModuleNotFoundError: No module named 'torch'" in finished.stderr
    finished = environment.run("anymps", "sr", "info", script, check=False)
    assert finished.returncode == 2
    said = "anymps: error: super-resolution needs PyTorch's libraries: there is no torch in this environment"
    assert finished.stderr.strip() == said


def test_packages_that_cannot_be_written_to_do_no_harm(wheel, environment, tmp_path):
    environment.pip("install", "--no-deps", wheel)
    folder = environment.packages
    read_only = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && ! touch {folder}/x 2>/dev/null"
    unshare = ["unshare", "--mount", "sh", "-c"]
    if subprocess.run([*unshare, read_only], capture_output=True).returncode != 0:
        pytest.skip("folders cannot be mounted here")
    program = f"{read_only} && exec {environment.bin}/python -c '{TRAIN}'"
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    finished = subprocess.run([*unshare, program], capture_output=True, text=True, env=home)
    assert finished.stdout.strip() == "mps:0"
    assert finished.stderr == ""
