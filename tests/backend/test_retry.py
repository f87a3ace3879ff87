"""anymps.retry_on_oom, with the device's own refusals wherever one can be had."""

import gc

import anymps
import pytest
import torch
from anymps import _C, _retry

# Buffers from this size on have a heap each, so that sizes add up, and none that other tests left can serve.
LARGE = 512 << 20


@pytest.fixture
def room_for():
    """Lets the device have that many bytes more than it holds."""
    before = _C.memory_limit()
    best = torch.mps.recommended_max_memory()

    def limit(size: int) -> None:
        gc.collect()
        torch.mps.empty_cache()
        torch.mps.set_per_process_memory_fraction((torch.mps.driver_allocated_memory() + size) / best)

    yield limit
    gc.collect()
    torch.mps.set_per_process_memory_fraction(before / best if before else 0.0)


def take(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device="mps")


def refuse(*_):
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_calls_once_where_there_is_room():
    calls = []
    assert anymps.retry_on_oom(lambda x, *, y: calls.append((x, y)) or "done")(1, y=2) == "done"
    assert calls == [(1, 2)]


def test_garbage_is_given_back_before_the_second_call(room_for):
    """A cycle holds what the second call needs, and the collector has not come by."""
    room_for(LARGE + LARGE // 2)
    gc.disable()
    try:
        cycle = [take(LARGE)]
        cycle.append(cycle)
        del cycle
        with pytest.raises(RuntimeError, match=r"^MPS backend out of memory"):
            take(LARGE)
        assert anymps.retry_on_oom(take)(LARGE).numel() == LARGE
    finally:
        gc.enable()


def test_what_the_failed_call_made_is_given_back(room_for):
    room_for(LARGE + LARGE // 2)
    held, sizes = [], []

    def step(size):
        held.append(torch.mps.driver_allocated_memory())
        sizes.append(size)
        first = take(LARGE)
        return first, take(size)

    _, second = anymps.retry_on_oom(step, smaller=lambda size: (size // 16,))(LARGE)
    assert second.numel() == LARGE // 16 and sizes == [LARGE, LARGE // 16]
    assert held[1] <= held[0]


def test_the_same_refusal_twice_is_raised(room_for):
    room_for(LARGE // 2)
    calls = []

    def step():
        calls.append(0)
        take(LARGE)

    with pytest.raises(RuntimeError, match=r"^MPS backend out of memory"):
        anymps.retry_on_oom(step)()
    assert len(calls) == 2
    with pytest.raises(RuntimeError, match=r"^MPS backend out of memory"):
        anymps.retry_on_oom(attempts=5)(step)()
    assert len(calls) == 7


def test_all_of_the_data_in_smaller_parts(room_for):
    """Shrinks the parts, not the data; the sum of all of it says so."""
    room_for(LARGE + LARGE // 2)
    data = torch.arange(64)
    sizes = []

    @anymps.retry_on_oom(smaller=lambda rows, size: (rows, size // 2) if size > 1 else None)
    def total(rows, size):
        sizes.append(size)
        return sum((part.sum(), take(len(part) * LARGE // 16))[0].item() for part in rows.split(size))

    assert total(data, size=64) == data.sum()
    assert sizes == [64, 32, 16]
    assert total.__name__ == "total"


def test_none_gives_up_with_the_last_refusal():
    sizes = []

    def step(size):
        sizes.append(size)
        refuse()

    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
        anymps.retry_on_oom(step, smaller=lambda size: (size // 2,) if size > 1 else None)(8)
    assert sizes == [8, 4, 2, 1]


def test_smaller_that_never_ends_is_ended(monkeypatch):
    monkeypatch.setattr(_retry, "_free", lambda: None)
    calls = []
    with pytest.raises(torch.OutOfMemoryError):
        anymps.retry_on_oom(lambda: calls.append(0) or refuse(), smaller=lambda: ())()
    assert len(calls) == 64


def test_other_errors_pass():
    calls = []

    def step():
        calls.append(0)
        raise RuntimeError("Invalid buffer size: 4096.00 GiB")

    with pytest.raises(RuntimeError, match="Invalid buffer size"):
        anymps.retry_on_oom(step)()
    assert len(calls) == 1


def test_wrong_use_is_told():
    with pytest.raises(TypeError, match="must return the next arguments as a tuple, or None; got int"):
        anymps.retry_on_oom(refuse, smaller=lambda size: size // 2)(8)
    with pytest.raises(ValueError, match="attempts must be at least 1, got 0"):
        anymps.retry_on_oom(attempts=0)


def test_a_module_is_wrapped():
    model = torch.nn.Linear(2, 1).to("mps")
    again = anymps.retry_on_oom(model)
    assert torch.equal(again(torch.ones(1, 2, device="mps")), model(torch.ones(1, 2, device="mps")))
    assert again.__wrapped__ is model


def test_without_a_device(python):
    """A library that uses it runs where there is no accelerator at all."""
    code = """
import anymps, torch
calls = []
def step():
    calls.append(0)
    raise torch.OutOfMemoryError("none left")
try:
    anymps.retry_on_oom(step)()
except torch.OutOfMemoryError as error:
    print(error, len(calls))
"""
    assert python(code, ANYMPS="0", CUDA_VISIBLE_DEVICES="").stdout == "none left 2\n"
