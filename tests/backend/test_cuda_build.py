"""A CUDA build of PyTorch counts as an accelerator without a GPU too, and PyTorch allows one: mps must be it there."""

import pathlib
import subprocess

import pytest
import torch

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def fake_cuda(tmp_path_factory):
    library = tmp_path_factory.mktemp("fake_cuda") / "fake_cuda.so"
    root = pathlib.Path(torch.__file__).parent
    command = ["g++", "-std=c++20", "-shared", "-fPIC", "-O0", f"-I{root}/include", str(HERE / "fake_cuda.cpp")]
    command += [f"-L{root}/lib", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{root}/lib", "-o", str(library)]
    subprocess.run(command, check=True)
    return str(library)


def test_the_fake_is_what_pytorch_sees(fresh_python, fake_cuda):
    code = "import torch; print(torch.accelerator.current_accelerator())"
    assert fresh_python(code, LD_PRELOAD=fake_cuda, ANYMPS="0").stdout.strip() == "cuda"


def test_mps_is_the_accelerator_and_trains(fresh_python, fake_cuda):
    code = """
import torch
assert torch.accelerator.current_accelerator().type == "mps"
assert torch.backends.mps.is_available() and torch.mps.device_count() == 1
model = torch.nn.Sequential(torch.nn.Conv1d(2, 3, 2), torch.nn.Flatten(), torch.nn.Linear(9, 1)).to("mps")
optimiser = torch.optim.Adam(model.parameters())
loss = model(torch.randn(5, 2, 4, device="mps")).sum()
loss.backward()
optimiser.step()
torch.mps.synchronize()
print(loss.device)
"""
    assert fresh_python(code, LD_PRELOAD=fake_cuda).stdout.strip() == "mps:0"
