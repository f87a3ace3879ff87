"""What differs between releases of PyTorch for a program, each thing where it is there and where it is not."""

import re

import pytest

pytestmark = pytest.mark.sliced

# The first release that has it, a script that ends with "ok", and a part of the error of a release before.
ARRIVALS = {
    "random state of the accelerator": (
        (2, 14),
        """
import torch
torch.manual_seed(7)
assert torch.accelerator.random.initial_seed() == 7
assert torch.equal(torch.accelerator.random.get_rng_state(), torch.mps.get_rng_state())
assert len(torch.accelerator.random.get_rng_state_all()) == 1
print("ok")
""",
        "module 'torch.accelerator' has no attribute 'random'",
    ),
    "unsigned integers in what Inductor compiles": (
        (2, 14),
        """
import torch
@torch.compile
def unsigned(x):
    return (x.abs() * 100).int().to(torch.uint16).int() + x.abs().long().to(torch.uint32).long()
x = torch.randn(300, device="mps")
torch.testing.assert_close(unsigned(x), unsigned._torchdynamo_orig_callable(x))
print("ok")
""",
        "KeyError: torch.uint16",
    ),
    "float8 among the device's types": (
        (2, 15),
        """
import torch
types = torch.accelerator.get_device_capability()["supported_dtypes"]
assert torch.float32 in types and torch.float64 not in types
assert torch.float8_e4m3fn in types, "no float8_e4m3fn"
print("ok")
""",
        "no float8_e4m3fn",
    ),
    "bytes as arguments of kernels in the stable interface": (
        (2, 14),
        """
import anymps, ctypes
library = ctypes.CDLL(anymps.library_path())
assert library.torch_mps_set_arg_bytes(None, 0, None, 0) != 0
print("ok")
""",
        "undefined symbol: torch_mps_set_arg_bytes",
    ),
}


def release_of(installed) -> tuple[int, int]:
    major, minor = installed.release.split(".")
    return int(major), int(minor)


@pytest.mark.parametrize("name", ARRIVALS)
def test_what_came_with_a_release(installed, name):
    first, code, refusal = ARRIVALS[name]
    if release_of(installed) >= first:
        assert installed.python(code) == "ok"
    else:
        finished = installed.run("python", "-c", code, check=False)
        assert finished.returncode != 0 and refusal in finished.stderr


REMOVED = ("cholesky", "qr")
FIRST_WITH_QR = (2, 12)


@pytest.mark.parametrize("name", REMOVED)
def test_what_went(installed, name):
    finished = installed.run("python", "-c", f"import torch; torch.{name}(torch.eye(3, device='mps'))", check=False)
    went = release_of(installed) >= (2, 14)
    is_there = not went and (name != "qr" or release_of(installed) >= FIRST_WITH_QR)
    assert finished.returncode == int(not is_there), finished.stderr
    assert ("'aten::linalg_qr.out' is not currently implemented" in finished.stderr) == (not is_there and not went)
    # Before, it is a warning, without the quotes.
    assert f"torch.{name} is deprecated in favor of torch.linalg.{name}" in finished.stderr.replace("`", "")
    assert ("This function was deprecated since version 1.9 and is now removed" in finished.stderr) == went


# Of any release: what must be the same in all of them.
ALWAYS = {
    "accelerator": """
import torch
assert torch.accelerator.current_accelerator() == torch.device("mps")
assert torch.accelerator.is_available() and torch.accelerator.device_count() == 1
x = torch.ones(3, device="mps")
torch.accelerator.synchronize()
assert torch.accelerator.current_device_index() == 0
assert torch.accelerator.current_stream().device.type == "mps"
torch.accelerator.empty_cache()
print("ok")
""",
    "profiler": """
import torch
x = torch.randn(64, 64, device="mps")
with torch.profiler.profile(record_shapes=True, profile_memory=True) as profile:
    for _ in range(3):
        x = (x @ x).relu()
        profile.step()
    torch.mps.synchronize()
names = {event.key: event for event in profile.key_averages()}
assert names["aten::mm"].count == 3, names.keys()
assert "aten::relu" in profile.key_averages().table(sort_by="cpu_time_total")
profile.export_chrome_trace("trace.json")
import json
assert any(event.get("name") == "aten::mm" for event in json.load(open("trace.json"))["traceEvents"])
print("ok")
""",
    "amp": """
import torch, warnings
model = torch.nn.Linear(8, 8, device="mps")
for dtype in (torch.float16, torch.bfloat16):
    with torch.autocast("mps", dtype=dtype):
        assert model(torch.ones(2, 8, device="mps")).dtype == dtype
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autocast("mps", dtype=torch.float64):
        assert model(torch.ones(2, 8, device="mps")).dtype == torch.float32
assert "autocast" in str(caught[0].message)
scaler = torch.amp.GradScaler("mps", init_scale=8.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch.autocast("mps", dtype=torch.float16):
    loss = model(torch.ones(2, 8, device="mps")).float().sum()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
assert scaler.get_scale() == 8.0
print("ok")
""",
    "errors at the next synchronisation": """
import torch
library = torch.mps.compile_shader('''
#include <c10/metal/error.h>
kernel void complains(device float* out, device c10::metal::ErrorMessages* errors, uint i [[thread_position_in_grid]]) {
  if (i == 3) TORCH_REPORT_ERROR(errors, "no ", i);
  out[i] = 1;
}''')
out = torch.zeros(8, device="mps")
library.complains(out, error_buf_idx=1)
try:
    torch.mps.synchronize()
except torch.AcceleratorError as error:
    assert "no 3" in str(error), error
else:
    raise SystemExit("nothing was raised")
torch.mps.synchronize()
bad = torch.ones(4, device="mps")[torch.tensor([9], device="mps")]
try:
    torch.mps.synchronize()
except torch.AcceleratorError as error:
    assert "out of bounds" in str(error), error
else:
    raise SystemExit("nothing was raised")
print("ok")
""",
    "functions that Inductor compiles to Metal": """
import torch
def small_sums(x):  # reductions shorter than a simdgroup
    return x.sum(-1), x.amax(-1), x.argmax(-1), x.var(-1), x.argmin(), x.mean((0, 2))
def halves(x):
    return x.bfloat16().argmax(-1), x.bfloat16().argmin(0), x.half().sum()
def whole(x):
    return (x.int() * 3).to(torch.uint8) + 1, torch.bitwise_xor(x.long(), 5), x.to(torch.int16) // 3
# For a second shape, Inductor before 2.13 makes Metal that no compiler takes: threadgroup arrays of lengths that vary.
dynamic = False if torch.__version__ < "2.13" else None
for function in (small_sums, halves, whole):
    for shape in ((3, 5, 7), (4, 2, 31), (2, 3, 900)):
        x = torch.arange(torch.Size(shape).numel(), device="mps").float().reshape(shape).sin() * 9
        torch.testing.assert_close(torch.compile(function, dynamic=dynamic)(x), function(x), rtol=1e-4, atol=1e-4)
print("ok")
""",
}


@pytest.mark.parametrize("name", ALWAYS)
def test_in_every_release(installed, name):
    assert installed.python(ALWAYS[name]).splitlines()[-1] == "ok"


BAD_ROWS = """
import sys, torch
x = torch.arange(4.0, device="mps")
bad = torch.tensor([0, 9], device="mps")
{call}
try:
    torch.mps.synchronize()
except torch.AcceleratorError as error:
    print(str(error).splitlines()[0])
torch.mps.synchronize()
"""
BAD_ROW_CALLS = {
    "index_select": "assert x.index_select(0, bad).shape == (2,)",
    "embedding": "assert torch.nn.functional.embedding(bad, x[:, None]).shape == (2, 1)",
    "index_add": "assert x.index_add(0, bad, torch.ones(2, device='mps')).shape == (4,)",
    "index_add_": "x.index_add_(0, bad, torch.ones(2, device='mps'))",
}


@pytest.mark.parametrize("name", BAD_ROW_CALLS)
def test_bad_rows_are_told_at_the_next_synchronisation(installed, name):
    code = BAD_ROWS.format(call=BAD_ROW_CALLS[name])
    if release_of(installed) >= (2, 14):
        assert installed.python(code) == "index 9 is out of bounds for dimension with size 4"
    elif name.startswith("index_add"):
        # Where a Mac says nothing, the CPU's kernel does, at once.
        assert "out of range" in installed.run("python", "-c", code, check=False).stderr
    else:
        assert installed.python(code) == "Index 1 is out of bounds: 9, range 0 to 4"


BAD_BAGS = """
import sys, torch
table, rows = torch.eye(4, device="mps"), torch.arange(4, device="mps")
bag = torch.nn.EmbeddingBag.from_pretrained(table, mode="sum")
for offsets in ([1, 2], [0, 3, 2], [0, 9]):
    sums = bag(rows, torch.tensor(offsets, device="mps"))
    assert sums.shape == (len(offsets), 4)
    if offsets[0] == 1:
        print(sums.tolist())
    try:
        torch.mps.synchronize()
    except torch.AcceleratorError as error:
        print(str(error).splitlines()[0])
"""


def test_bags_beside_the_indices_are_told_at_the_next_synchronisation(installed):
    if release_of(installed) >= (2, 14):
        assert installed.python(BAD_BAGS).splitlines() == [
            "[[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]",
            "Invalid offsets in embedding_bag: bag 1 spans [3, 2) but num_indices is 4",
            "Invalid offsets in embedding_bag: bag 0 spans [0, 9) but num_indices is 4",
        ]
    else:
        # Where a Mac reads what lies beside the indices, the CPU's kernel refuses, at once.
        assert "offsets[0] has to be 0" in installed.run("python", "-c", BAD_BAGS, check=False).stderr


METAL_VERSION = """
import torch
library = torch.mps.compile_shader('''
#include <metal_stdlib>
kernel void version(device int* out, uint i [[thread_position_in_grid]]) { out[i] = __METAL_VERSION__; }
''')
out = torch.zeros(1, dtype=torch.int32, device="mps")
library.version(out)
print(out.item())
"""


@pytest.mark.parametrize(("asked", "version"), [("3.1", 310), ("3.2", 320), ("5", 400)])
def test_the_version_of_metal_is_chosen_from_2_15_on(installed, asked, version):
    finished = installed.run("python", "-c", METAL_VERSION, PYTORCH_MPS_METAL_VERSION=asked)
    if release_of(installed) >= (2, 15):
        assert int(finished.stdout) == version
        assert ("Ignoring PYTORCH_MPS_METAL_VERSION=5, expected 3.1, 3.2 or 4.0" in finished.stderr) == (asked == "5")
    else:
        assert finished.stdout == "400\n"
        assert "PyTorch's MPS backend reads no PYTORCH_MPS_METAL_VERSION" in finished.stderr


def test_aotinductors_shim_is_all_there(installed):
    """What the release's own headers declare for mps, its library here defines."""
    include = installed.packages / "torch" / "include" / "torch" / "csrc"
    headers = [include / "inductor/aoti_torch/c/shim_mps.h", include / "inductor/aoti_torch/generated/c_shim_mps.h"]
    headers.append(include / "stable/c/shim.h")
    declared = set()
    for header in headers:
        declared |= set(re.findall(r"\b((?:aoti_torch|torch)_mps_\w+)\s*\(", header.read_text()))
    assert len(declared) > 100
    code = "import anymps, ctypes, sys; library = ctypes.CDLL(anymps.library_path())\n"
    code += "print([name for name in sys.stdin.read().split() if not hasattr(library, name)])"
    code = code.replace("sys.stdin.read()", repr(" ".join(sorted(declared))))
    assert installed.python(code) == "[]"


def test_check_tells_what_an_upgrade_does(installed):
    """As every release that is not the installed one."""
    script = installed.home / "spectrum.py"
    script.write_text(
        "import torch\nx = torch.eye(3, device='mps')\nprint(torch.linalg.eigh(x), torch.linalg.svdvals(x))\n"
    )
    gained = release_of(installed) < (2, 14)
    finished = installed.run("anymps", "check", "--as-torch", "2.15", "--fail-on", "never", "--json", "-", script)
    said = finished.stdout
    if release_of(installed) == (2, 15):
        assert '"upgrade": null' in said
    else:
        assert ('"rule": "upgrade-gain"' in said) == gained and '"to": "2.15.0"' in said
    finished = installed.run("anymps", "check", "--as-torch", "2.11", "--fail-on", "never", "--json", "-", script)
    assert ('"upgrade": "breaks"' in finished.stdout) == (not gained)
