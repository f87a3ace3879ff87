"""The device's memory as a program meets it: what torch.mps says, where it refuses, and that nothing is lost after."""

import gc
import os

import anymps
import pytest
import torch
from torch import nn

MIB = 1 << 20


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def test_tensors_and_heaps_are_counted_as_on_a_mac(python):
    code = """
import torch
def show(): print(torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory())
show()
a = torch.empty(1, device="mps"); show()
b = torch.empty(5 << 20, dtype=torch.uint8, device="mps"); show()
c = b + 1; show()
del b, c; show()
torch.mps.empty_cache(); show()
"""
    assert [numbers(line) for line in python(code).stdout.splitlines()] == [
        [0, 0],
        [256, 8 * MIB],
        [256 + 5 * MIB, 40 * MIB],
        [256 + 10 * MIB, 40 * MIB],
        [256, 40 * MIB],
        [256, 8 * MIB],
    ]


def test_results_of_every_route_are_counted_and_given_back():
    x = torch.randn(256, 256).to("mps")
    made = {
        "hot operator": lambda: x + x,
        "boxed operator": lambda: torch.cumsum(x, 0),
        "out=": lambda: torch.sort(
            x, out=(torch.empty(0, device="mps"), torch.empty(0, dtype=torch.long, device="mps"))
        ),
        "resize_": lambda: torch.empty(0, device="mps").resize_(256, 256),
        "copy": lambda: x.cpu().to("mps"),
        "sparse": lambda: x.to_sparse(),
        "pinned": lambda: torch.empty(256, 256, pin_memory=True),
    }
    for name, make in made.items():
        gc.collect()
        before = torch.mps.current_allocated_memory()
        result = make()
        assert torch.mps.current_allocated_memory() >= before + x.nbytes, name
        del result
        assert torch.mps.current_allocated_memory() == before, name


def test_peak_of_tensors_and_with_temporaries():
    x = torch.randn(64, 64, 32, 32).to("mps")
    weight = torch.randn(64, 64, 3, 3).to("mps")
    torch.accelerator.reset_peak_memory_stats()
    before = anymps.memory()
    result = torch.nn.functional.conv2d(x, weight, padding=1)
    now = anymps.memory()
    assert now["tensors"] == before["tensors"] + result.nbytes
    assert now["tensors_peak"] == torch.accelerator.max_memory_allocated()
    assert now["with_temporaries_peak"] >= now["with_temporaries"]
    assert now["with_temporaries_peak"] - before["with_temporaries"] >= now["tensors_peak"] - before["tensors"]


def test_statistics_of_the_accelerator():
    torch.mps.empty_cache()  # or a cached buffer of another size serves, and counts whole
    torch.accelerator.reset_accumulated_memory_stats()
    torch.accelerator.reset_peak_memory_stats()
    base = torch.accelerator.memory_allocated()
    x = torch.empty(8 * MIB, device="mps", dtype=torch.uint8)
    del x
    stats = torch.accelerator.memory_stats()
    assert stats["allocated_bytes.all.current"] == base
    assert stats["allocated_bytes.all.peak"] == base + 8 * MIB == torch.accelerator.max_memory_allocated()
    assert stats["allocated_bytes.all.allocated"] == stats["allocated_bytes.all.freed"] == 8 * MIB
    assert (
        stats["reserved_bytes.all.current"]
        == torch.mps.driver_allocated_memory()
        == torch.accelerator.memory_reserved()
    )
    free, total = torch.accelerator.get_memory_info()
    assert (free, total) == (total - torch.mps.driver_allocated_memory(), torch.mps.recommended_max_memory())


@pytest.mark.parametrize(("release", "active"), [("2.14", [0, 0, 0]), ("2.15", [0, 8 * MIB, 8 * MIB])])
def test_active_bytes_are_told_from_2_15_on(python, release, active):
    code = """
import torch
x = torch.empty(8 << 20, device="mps", dtype=torch.uint8)
del x
stats = torch.accelerator.memory_stats()
print(*(stats[f"active_bytes.all.{which}"] for which in ("current", "peak", "freed")))
"""
    assert numbers(python(code, ANYMPS_AS_TORCH=release).stdout) == active


def test_blocks_of_a_heap_are_split_and_joined_from_2_14_on(python):
    code = """
import torch
MIB = 1 << 20
def tensor(mib): return torch.empty(mib * MIB, dtype=torch.uint8, device="mps")
full = [tensor(8) for _ in range(4)]
full[1:3] = []
joined = tensor(9)
print(torch.mps.driver_allocated_memory() // MIB)
del full, joined
half = tensor(4)
print(torch.mps.current_allocated_memory() // MIB, torch.mps.driver_allocated_memory() // MIB)
"""
    assert python(code, ANYMPS_AS_TORCH="2.13").stdout == "64\n8 64\n"
    assert python(code, ANYMPS_AS_TORCH="2.14").stdout == "32\n4 32\n"


LIMITED = """
import torch, sys
try:
    torch.empty(1, device="mps")
    big = torch.empty(3 << 30, dtype=torch.uint8, device="mps")
    print("fits")
except RuntimeError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("high", "low", "text"),
    [
        ("2.5", None, "invalid high watermark ratio 2.5"),
        ("-0.1", None, "invalid high watermark ratio -0.1"),
        ("1.0", None, "invalid low watermark ratio 1.4"),
        ("1.0", "1.2", "invalid low watermark ratio 1.2"),
        ("0.0", "0.0", "fits"),
        ("nonsense", "0", "fits"),  # strtod makes zero of it: no limit, as there
        (
            "0.00001",
            "0.00001",
            "MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes, max allowed: ",
        ),
    ],
)
def test_watermarks_of_the_environment(python, high, low, text):
    environment = {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": high}
    if low is not None:
        environment["PYTORCH_MPS_LOW_WATERMARK_RATIO"] = low
    assert python(LIMITED, **environment).stdout.startswith(text)


def test_a_fraction_set_in_code_wins_over_the_environment(python):
    code = "import torch; torch.mps.set_per_process_memory_fraction(0.0)" + LIMITED
    ratios = {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.01", "PYTORCH_MPS_LOW_WATERMARK_RATIO": "0"}
    assert python(code, **ratios).stdout == "fits\n"


def test_the_allocators_debug_lines(fresh_python):
    code = 'import torch; x = torch.empty(3000, dtype=torch.uint8, device="mps"); del x; torch.mps.empty_cache()'
    said = fresh_python(code, PYTORCH_DEBUG_MPS_ALLOCATOR="15", TORCH_CPP_LOG_LEVEL="INFO").stderr
    for line in (
        "High watermark memory allocation limit: ",
        "Initializing heap allocator on unified device memory of size ",
        "Allocated shared heap #1 of size 8.00 MiB (#heaps: 1, current allocated: 8.00 MiB)",
        "Allocated shared buffer #1 of size 3.00 KiB from heap #1 (requested: 2.93 KiB",
        "Released buffer #1 of size 3.00 KiB from heap #1",
        "Attempting to release cached buffers (MPS allocated: 8.00 MiB, other allocations: 0 bytes)",
    ):
        assert line in said
    assert "shared heap" not in fresh_python(code, PYTORCH_DEBUG_MPS_ALLOCATOR="15").stderr, "PyTorch logs at INFO"


def test_ten_thousand_refusals_leave_nothing_behind(python):
    code = """
import gc, torch, anymps
torch.mps.set_per_process_memory_fraction(0.02)
net = torch.nn.Linear(64, 64).to("mps")
def step(batch):
    net(torch.ones(batch, 64, device="mps")).sum().backward()
    net.zero_grad()
step(8)
gc.collect()
before = anymps.memory()
refused = 0
for _ in range(10_000):
    try:
        step(4 << 20)  # a gibibyte
    except RuntimeError as error:
        assert str(error).startswith("MPS backend out of memory"), error
        refused += 1
    step(8)
gc.collect()
after = anymps.memory()
alive = [m["allocations"] - m["frees"] for m in (before, after)]
print(refused, after["tensors"] - before["tensors"], alive[1] - alive[0])
"""
    assert numbers(python(code, timeout=300).stdout) == [10_000, 0, 0]


def test_what_this_machine_cannot_back_is_refused_in_its_own_name(python):
    # No limit of a Mac, and never touched: only the promise is counted.
    code = """
import torch
held = []
try:
    while True:
        held.append(torch.empty(2 << 30, dtype=torch.uint8, device="mps"))
except RuntimeError as error:
    print(error)
held.clear()
print(torch.ones(3, device="mps").sum().item())
"""
    lines = python(code, PYTORCH_MPS_HIGH_WATERMARK_RATIO="0", PYTORCH_MPS_LOW_WATERMARK_RATIO="0").stdout.splitlines()
    assert lines[0].startswith("MPS backend out of memory (MPS allocated: ")
    assert lines[0].endswith("Tried to allocate 2.00 GiB on shared pool.")
    assert lines[1].startswith("anymps: this is the limit of this machine, not of the simulated Mac")
    assert lines[2] == "3.0"


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_empty_cache_gives_memory_back_to_the_system():
    x = torch.ones(256 * MIB, dtype=torch.uint8, device="mps")
    full = resident_bytes()
    del x
    assert resident_bytes() > full - 16 * MIB, "cached"
    torch.mps.empty_cache()
    assert resident_bytes() < full - 240 * MIB


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


def epochs(model: nn.Module, shape: tuple[int, ...], retain: bool = False) -> list[int]:
    """Driver memory after each of ten epochs, with the runbook's flush at their ends."""
    model = model.to("mps")
    optimiser = torch.optim.Adam(model.parameters())
    kept, seen = [], []
    for _ in range(10):
        for _ in range(5):
            loss = model(torch.randn(shape).to("mps")).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            if retain:
                kept.append(torch.randn(2 * MIB, device="mps") * loss)
        gc.collect()
        torch.mps.empty_cache()
        seen.append(torch.mps.driver_allocated_memory())
    return seen


def convolutional() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(4))


@pytest.mark.parametrize(("make", "shape"), [(convolutional, (8, 3, 32, 32)), (Recurrent, (8, 20, 16))])
def test_ten_epochs_are_flat(make, shape):
    seen = epochs(make(), shape)
    assert seen[-1] == seen[1], seen


def test_a_loop_that_retains_tensors_rises():
    seen = epochs(convolutional(), (8, 3, 32, 32), retain=True)
    assert seen[-1] > 1.26 * seen[0], seen
    assert seen == sorted(seen)


def test_what_an_lstm_keeps_for_its_gradient_counts_as_tensors():
    net = nn.LSTM(64, 64).to("mps")
    x = torch.randn(100, 32, 64).to("mps")
    before = torch.mps.current_allocated_memory()
    with torch.no_grad():
        net(x)
    output, _ = net(x)
    kept = torch.mps.current_allocated_memory() - before
    assert kept > 2 * output.nbytes, "the output, and the gates at least"
