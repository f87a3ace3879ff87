"""ANYMPS_AS_TORCH: what another release of PyTorch has on MPS, and what it lacks."""

import pathlib

import pytest
import torch

DATA = pathlib.Path(__file__).parents[2] / "data" / "coverage"

CALL_COL2IM = """
import torch, warnings
warnings.simplefilter("always")
torch.nn.functional.fold(torch.ones(1, 4, 1, device="mps"), 2, 2)
"""


def history():
    lines = [line.split() for line in (DATA / "history.txt").read_text().splitlines() if not line.startswith("#")]
    return lines[0][1:], {name: routes for name, routes in lines[2:]}


def test_the_table_agrees_with_that_of_this_release():
    """Two tools read the same wheel, one of Linux and one of macOS."""
    version = torch.__version__.split("+")[0]
    releases, routes = history()
    column = releases.index(version)
    listed = (DATA / f"torch{version.rpartition('.')[0]}.txt").read_text().splitlines()
    kernels = {line.split()[1] for line in listed if line.startswith("MPS ")}
    assert {name for name, row in routes.items() if row[column] == "m"} == kernels


def test_what_went_to_the_cpu_does_so_again(python):
    assert "fall back" not in python(CALL_COL2IM).stderr
    finished = python(CALL_COL2IM, ANYMPS_AS_TORCH="2.7")
    assert (
        "The operator 'aten::col2im' is not currently supported on the MPS backend and will fall back"
        in finished.stderr
    )
    assert "Overriding" not in finished.stderr


def test_what_a_newer_release_has_runs(python):
    code = "import torch; print(torch.linalg.eigvalsh(torch.eye(2, device='mps')).device)"
    assert "not currently implemented" in python(code, check=False).stderr
    assert python(code, ANYMPS_AS_TORCH="2.15").stdout == "mps:0\n"


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("2.13", "linalg.lu_factor(): MPS only supports floats."),
        ("2.14", "linalg.lu_factor(): MPS doesn't support complex types."),
        ("2.15", "computed"),
    ],
)
def test_a_refusal_is_in_the_words_of_the_release(python, release, text):
    code = """
import torch
matrix = torch.eye(2, dtype=torch.complex64, device="mps")
try:
    torch.linalg.solve(matrix, matrix)
    print("computed")
except RuntimeError as error:
    print(error)
"""
    assert python(code, ANYMPS_AS_TORCH=release).stdout == f"{text}\n"


@pytest.mark.parametrize("release", ["2.7", "2.9.1", "2.15"])
def test_a_training_step_runs_on_each(python, release):
    code = """
import torch
model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
                            torch.nn.Linear(4 * 36, 2)).to("mps")
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    loss = model(torch.ones(2, 3, 8, 8, device="mps")).square().mean()
    loss.backward()
    optimizer.step()
print(torch.isfinite(loss).item())
"""
    assert python(code, ANYMPS_AS_TORCH=release).stdout == "True\n"


def test_no_such_release(python):
    finished = python("import torch; print(torch.backends.mps.is_available())", ANYMPS_AS_TORCH="1.4")
    assert finished.stdout == "False\n"
    assert "ANYMPS_AS_TORCH names 1.4, which is no release of PyTorch that is known here: 2.7.0" in finished.stderr


SVD = """
import torch, warnings
warnings.simplefilter("always")
matrix = torch.randn(4, 3, device="mps", requires_grad=True)
u, s, v = torch.linalg.svd(matrix, full_matrices=False)
s.sum().backward()
print(torch.allclose(u @ torch.diag(s) @ v, matrix, atol=1e-5), matrix.grad.device)
"""


@pytest.mark.parametrize(("release", "falls_back"), [("2.13", True), ("2.14", False), ("2.15", False)])
def test_singular_values_are_the_devices_from_2_14_on(python, release, falls_back):
    finished = python(SVD, ANYMPS_AS_TORCH=release)
    assert finished.stdout == "True mps:0\n"
    assert ("'aten::linalg_svd' is not currently supported" in finished.stderr) == falls_back
