"""torch.mps and torch.backends.mps: counts, names, memory."""

import gc

import pytest
import torch


def test_availability_and_names():
    assert torch.backends.mps.is_available() and torch.backends.mps.is_built()
    assert torch.mps.device_count() == 1
    assert "anymps" in torch.backends.mps.get_name()
    assert torch.backends.mps.get_core_count() > 0
    assert torch.backends.mps.is_macos13_or_newer()
    assert torch.backends.mps.is_macos_or_newer(26, 0)
    assert not torch.mps._is_in_bad_fork()


def test_a_fork_is_a_bad_fork(python):
    code = """
import os, torch
torch.backends.mps.is_available()  # it is this call that PyTorch watches for forks
pid = os.fork()
if pid == 0:
    os._exit(10 + int(torch.mps._is_in_bad_fork()))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert python(code).stdout.strip() == "11"


def test_memory_follows_tensors():
    gc.collect()
    torch.mps.empty_cache()  # or a larger buffer from the cache would serve
    before = torch.mps.current_allocated_memory()
    x = torch.empty(1 << 20, device="mps")
    grown = torch.mps.current_allocated_memory() - before
    assert 4 << 20 <= grown <= 5 << 20
    assert torch.mps.driver_allocated_memory() >= torch.mps.current_allocated_memory()
    del x
    assert torch.mps.current_allocated_memory() == before


def test_results_of_operators_count():
    x = torch.ones(1 << 20, device="mps")
    before = torch.mps.current_allocated_memory()
    y = x + 1
    assert torch.mps.current_allocated_memory() - before >= 4 << 20
    del y
    assert torch.mps.current_allocated_memory() == before


def test_empty_cache_gives_memory_back():
    x = torch.empty(64 << 20, device="mps", dtype=torch.uint8).fill_(1)
    del x
    cached = torch.mps.driver_allocated_memory()
    torch.mps.empty_cache()
    assert torch.mps.driver_allocated_memory() <= cached - (64 << 20)


def test_recommended_max_memory():
    assert torch.mps.recommended_max_memory() > 0


@pytest.mark.parametrize(
    ("fraction", "error"), [("0.5", TypeError), (1, TypeError), (-0.1, ValueError), (2.1, ValueError)]
)
def test_fractions_out_of_range_are_refused(fraction, error):
    with pytest.raises(error, match=r"Invalid (type for fraction argument|fraction value)"):
        torch.mps.set_per_process_memory_fraction(fraction)


def test_out_of_memory_has_pytorchs_text_and_is_survived(python):
    code = """
import torch
torch.mps.set_per_process_memory_fraction(0.001)
try:
    torch.empty(1 << 30, device="mps")
except RuntimeError as error:
    print(error)
torch.mps.set_per_process_memory_fraction(1.0)
print(torch.empty(1 << 20, device="mps").numel())
"""
    text, count = python(code).stdout.strip().splitlines()
    assert text.startswith("MPS backend out of memory (MPS allocated: ")
    assert "Tried to allocate 4.00 GiB on shared pool." in text
    assert "Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit" in text
    assert int(count) == 1 << 20


def test_a_buffer_larger_than_any_is_refused():
    with pytest.raises(RuntimeError, match="Invalid buffer size: "):
        torch.empty(1 << 45, device="mps", dtype=torch.uint8)


def test_accelerator_memory_statistics():
    torch.accelerator.reset_peak_memory_stats()
    base = torch.accelerator.memory_allocated()
    x = torch.empty(8 << 20, device="mps", dtype=torch.uint8)
    del x
    assert torch.accelerator.max_memory_allocated() >= base + (8 << 20)
    assert "allocated_bytes.all.current" in torch.accelerator.memory_stats()
    free, total = torch.accelerator.get_memory_info()
    assert 0 < free <= total


# As a guide writes it.
def test_a_shader_from_source():
    library = torch.mps.compile_shader("""
    kernel void full(
        device float* out,
        constant float& val,
        uint idx [[thread_position_in_grid]]
    ) {
        out[idx] = val;
    }
    """)
    x = torch.zeros(16, device="mps")
    library.full(x, 3.14)
    torch.mps.synchronize()
    assert dir(library) == ["full"]
    assert x.cpu().eq(torch.tensor(3.14)).all()
