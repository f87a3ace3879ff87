"""The built wheel, in a virtual environment of its own."""

import shutil
import subprocess

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


def test_another_torch_version_is_refused_in_one_line(wheel, environment):
    environment.pip("install", "--no-deps", wheel)
    facts = environment.packages / "anymps" / "_build.py"
    facts.write_text(facts.read_text().replace("2.13.0", "2.12.9"))
    # Compiled within the same second, the old text would pass for the new one.
    shutil.rmtree(facts.parent / "__pycache__")
    finished = environment.run("python", "-c", "import torch; print(torch.ones(1).item())")
    assert finished.stdout.strip() == "1.0"
    assert finished.stderr.strip() == "anymps: built for torch 2.12.9, found 2.13.0; stepping aside"


def test_needs_no_library_of_the_build_machine(wheel, environment):
    environment.pip("install", "--no-deps", wheel)
    library = environment.packages / "anymps" / "lib" / "libanymps.so"
    for binary in (environment.bin / "anymps", library):
        needed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        assert "not found" not in needed
        assert not [word for word in ("fmt", "spdlog", "CLI11") if word in needed]
