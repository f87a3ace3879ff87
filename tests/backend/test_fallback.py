"""Operators that PyTorch's MPS backend lacks."""

import pytest
import torch


def test_refused_with_pytorchs_text():
    with pytest.raises(NotImplementedError) as caught:
        torch.linalg.eigvals(torch.eye(3, device="mps"))
    text = str(caught.value)
    assert text.startswith("The operator 'aten::_linalg_eigvals' is not currently implemented for the MPS device. ")
    assert f"commit hash {torch.version.git_version}." in text
    assert "set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1`" in text


def test_warns_once_and_runs_when_asked(python):
    code = """
import torch, warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(3):
        values = torch.linalg.eigvals(torch.eye(3, device="mps"))
print(values.device, len(seen), str(seen[0].message).split(" (")[0])
"""
    out = python(code, PYTORCH_ENABLE_MPS_FALLBACK="1").stdout
    assert out.startswith("mps:0 1 The operator 'aten::_linalg_eigvals' is not currently supported on the MPS backend")


def test_zero_is_off(python):
    code = "import torch; torch.linalg.eigvals(torch.eye(3, device='mps'))"
    assert "NotImplementedError" in python(code, check=False, PYTORCH_ENABLE_MPS_FALLBACK="0").stderr


def test_operators_that_always_fall_back():
    with pytest.warns(UserWarning, match="linalg_svd' is not currently supported on the MPS backend"):
        factors = torch.linalg.svd(torch.randn(3, 3, device="mps"))
    assert {factor.device.type for factor in factors} == {"mps"}


def test_distributed_operators_never_fall_back(python):
    code = """
import torch, torch.distributed as dist, tempfile, os
dist.init_process_group("gloo", init_method="file://" + os.path.join(tempfile.mkdtemp(), "f"), rank=0, world_size=1)
try:
    dist.all_reduce(torch.ones(1, device="mps"))
except NotImplementedError as error:
    print(error)
except RuntimeError as error:
    print("other:", error)
"""
    out = python(code, PYTORCH_ENABLE_MPS_FALLBACK="1", check=False).stdout
    assert "distributed operators can not fall back to CPU" in out


def test_a_custom_operator_without_a_kernel():
    with torch.library._scoped_library("anymps_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        with pytest.raises(NotImplementedError, match="The operator 'anymps_test::twice' is not currently implemented"):
            torch.ops.anymps_test.twice(torch.ones(1, device="mps"))
