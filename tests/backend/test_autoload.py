"""`import torch` finds the device, and nothing that goes wrong there breaks `import torch`."""

import re


def test_import_torch_is_enough(fresh_python):
    out = fresh_python("import torch; print(torch.backends.mps.is_built(), torch.zeros(2, device='mps').device)").stdout
    assert out.split() == ["True", "mps:0"]


def test_subprocesses_have_it_too(fresh_python):
    code = (
        "import subprocess, sys;"
        "print(subprocess.run([sys.executable, '-c', 'import torch; print(torch.mps.device_count())'],"
        " capture_output=True, text=True).stdout)"
    )
    assert fresh_python(code).stdout.strip() == "1"


def test_anymps_0_keeps_it_out(fresh_python):
    code = "import torch; print(torch.backends.mps.is_built(), torch.backends.mps.is_available())"
    assert fresh_python(code, ANYMPS="0").stdout.split() == ["False", "False"]


def test_autoload_switch_of_pytorch_keeps_it_out(fresh_python):
    code = "import torch; print(torch.backends.mps.is_available())"
    assert fresh_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stdout.strip() == "False"


def test_another_torch_version_is_refused_in_one_line(fresh_python):
    code = "import anymps._release as r; r.found = lambda: '1.0.0'; import torch; print(torch.ones(1).item())"
    finished = fresh_python(code)
    assert finished.stdout.strip() == "1.0"
    lines = [line for line in finished.stderr.splitlines() if "anymps" in line]
    assert len(lines) == 1
    releases = r"[\d., and]*2\.13[\d., and]*"
    assert re.fullmatch(rf"anymps: this copy is for torch {releases}, and torch is 1\.0\.0; stepping aside", lines[0])


def test_a_broken_library_does_not_break_import_torch(fresh_python):
    code = "import anymps; anymps.library_path = lambda: '/nowhere/lib.so'; import torch; print(torch.ones(1).item())"
    finished = fresh_python(code)
    assert finished.stdout.strip() == "1.0"
    assert len([line for line in finished.stderr.splitlines() if "anymps" in line]) == 1


def test_required_makes_it_an_error(fresh_python):
    code = "import anymps._release as r; r.found = lambda: '1.0.0'; import torch"
    finished = fresh_python(code, check=False, ANYMPS_REQUIRED="1")
    assert finished.returncode == 2
    assert "and torch is 1.0.0" in finished.stderr


def test_a_visible_gpu_keeps_it_out_unless_asked(fresh_python):
    code = (
        "import os; os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD'] = '0'; import torch, anymps;"
        "torch.version.cuda = '13.0'; torch.cuda.is_available = lambda: True;"
        "anymps._autoload(); print(torch.backends.mps.is_built())"
    )
    assert fresh_python(code).stdout.strip() == "False"
    assert fresh_python(code, ANYMPS="1").stdout.strip() == "True"


def test_exit_right_after_backward_is_clean(fresh_python):
    # The device's autograd thread used to be caught by the interpreter's end in the middle of a destructor.
    code = "import torch; x = torch.ones(2, device='mps', requires_grad=True); (x * 2).sum().backward()"
    for _ in range(3):
        assert fresh_python(code).stderr == ""
