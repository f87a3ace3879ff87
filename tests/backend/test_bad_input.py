"""What is refused: each refusal names what was wrong, and the process goes on."""

import pytest
import torch

ones = lambda *shape: torch.ones(*shape, device="mps")  # noqa: E731

CASES = {
    "float64": (lambda: ones(2).double(), TypeError, "float64"),
    "complex128": (lambda: ones(2).to(torch.complex128), TypeError, "float64"),
    "17 dimensions": (lambda: ones(*(1,) * 17), RuntimeError, "dimensions <= 16, but got 17"),
    "negative size": (lambda: torch.empty(-1, device="mps"), RuntimeError, "negative dimension -1"),
    "huge buffer": (lambda: torch.empty(1 << 50, device="mps"), RuntimeError, "Invalid buffer size"),
    "mixed devices": (lambda: ones(2) + torch.ones(2), RuntimeError, "at least two devices, mps:0 and cpu"),
    "mixed devices, product": (lambda: ones(2, 2) @ torch.ones(2, 2), RuntimeError, "argument #2 'mat2' is on CPU"),
    "mixed devices, convolution": (
        lambda: torch.nn.functional.conv1d(ones(1, 1, 3), torch.ones(1, 1, 2)),
        RuntimeError,
        "should be the same|same device",
    ),
    "shapes": (lambda: ones(2) + ones(3), RuntimeError, r"size of tensor a \(2\) must match"),
    "product shapes": (lambda: ones(2, 3) @ ones(2, 3), RuntimeError, "cannot be multiplied"),
    "missing operator": (lambda: torch.linalg.eig(ones(2, 2)), NotImplementedError, "_linalg_eig|linalg_eig"),
    "sparse constructor": (lambda: torch.empty(2, device="mps", layout=torch.sparse_csr), Exception, "."),
    "numpy": (lambda: ones(2).numpy(), TypeError, "can't convert mps:0"),
    "event": (lambda: torch._C._mps_recordEvent(10**6), RuntimeError, "Invalid Event ID: 1000000"),
    "memory fraction": (lambda: torch.mps.set_per_process_memory_fraction(3.0), ValueError, "Allowed range: 0~2"),
    "generator of the cpu": (
        lambda: torch.rand(2, device="mps", generator=torch.Generator()),
        RuntimeError,
        "Expected a 'mps'",
    ),
    "bernoulli": (lambda: ones(2).bernoulli_(2.0), RuntimeError, r"expects p to be in \[0, 1\]"),
    "shader": (lambda: torch.mps.compile_shader("x"), SyntaxError, r"program_source:1:1: error: "),
    "metallib": (lambda: torch.mps.load_metallib(b"MTLB"), RuntimeError, "Failed to load metallib: offset 4"),
    "metallib of a wrong type": (lambda: torch.mps.load_metallib(3), TypeError, "expected bytes or path, got int"),
    "quantised": (lambda: torch.quantize_per_tensor(ones(2), 1.0, 0, torch.qint8), Exception, "."),
    "storage of another device": (lambda: ones(2).set_(torch.ones(2).untyped_storage()), RuntimeError, "must match"),
    "host alias of a tensor": (lambda: torch._C._mps_host_alias_storage(ones(2)), TypeError, "UntypedStorage"),
    "host alias of the cpu": (
        lambda: torch.mps._host_alias_storage(torch.ones(2).untyped_storage()),
        ValueError,
        "expected an MPS storage, got device=cpu",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_and_usable_after(name):
    call, error, text = CASES[name]
    with pytest.raises(error, match=text):
        call()
    assert (ones(3) * 2).sum().item() == 6


def test_late_errors_come_at_synchronisation_and_only_once():
    x = torch.zeros(3, 4, device="mps")
    gathered = torch.gather(x, 1, torch.tensor([[7]], device="mps"))
    assert gathered.shape == (1, 1)
    with pytest.raises(torch.AcceleratorError, match="gather: index 7 is out of bounds"):
        torch.mps.synchronize()
    torch.mps.synchronize()
    x.scatter_(1, torch.tensor([[9]], device="mps"), 1.0)
    with pytest.raises(torch.AcceleratorError, match="out of bounds"):
        x.sum().item()
    assert x.sum().item() == 0
