"""Streams: torch.mps.Stream of PyTorch 2.15, what 2.14 has of it, and that there was nothing before."""

import pytest

ALL = "('Stream', 'stream', 'current_stream', 'set_stream', 'default_stream')"


def test_the_names_are_there_from_2_15_on(python):
    code = f"""
import torch
print([name for name in {ALL} if hasattr(torch.mps, name)], [name for name in {ALL} if name in torch.mps.__all__])
print([name for name in ("_MPSStreamBase", "_mps_setStream", "_mps_getCurrentStream") if hasattr(torch._C, name)])
event = torch.mps.Event()
event.record(), event.wait()
print(event.query())
"""
    assert python(code, ANYMPS_AS_TORCH="2.13").stdout == "[] []\n[]\nTrue\n"
    assert python(code, ANYMPS_AS_TORCH="2.14").stdout == "[] []\n['_MPSStreamBase', '_mps_setStream']\nTrue\n"
    names = ["Stream", "stream", "current_stream", "set_stream", "default_stream"]
    core = ["_MPSStreamBase", "_mps_setStream", "_mps_getCurrentStream"]
    assert python(code, ANYMPS_AS_TORCH="2.15").stdout == f"{names} {names}\n{core}\nTrue\n"


def test_the_pool_has_32(python):
    code = """
import torch
made = [torch.mps.Stream() for _ in range(34)]
print([stream.stream_id for stream in made] == [*range(1, 33), 1, 2])
print(made[0] == made[32], made[0] == made[1], made[0].device, isinstance(made[0], torch.Stream))
print(made[1], torch.mps.default_stream(), torch.mps.Stream(stream_id=7) == torch.mps.Stream(7) == made[6])
for wrong in (33, -2):
    try:
        torch.mps.Stream(stream_id=wrong)
    except RuntimeError as error:
        print(error)
try:
    torch.mps.Stream(priority=1)
except TypeError as error:
    print("TypeError")
print(torch.Stream(device="mps").stream_id)
"""
    assert python(code, ANYMPS_AS_TORCH="2.15").stdout.splitlines() == [
        "True",
        "True False mps:0 True",
        "<torch.mps.Stream stream_id=2> <torch.mps.Stream stream_id=0> True",
        "stream_id=33 not found",
        "stream_id=-2 not found",
        "TypeError",
        "3",
    ]


def test_the_current_stream_is_the_threads(python):
    code = """
import threading, torch
def now(): return torch.mps.current_stream().stream_id, torch.accelerator.current_stream().stream_id
stream = torch.mps.Stream(stream_id=5)
print(now())
with torch.mps.stream(stream):
    x = torch.ones(3, device="mps") + 1
    print(now(), torch.mps.current_stream() == stream)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(now()))
    thread.start(), thread.join()
    print(seen)
    with torch.mps.stream(None):
        print(now())
print(now(), x.tolist())
torch.mps.set_stream(stream)
torch.mps.set_stream(None)
print(now())
torch.mps.set_stream(torch.mps.default_stream())
with stream:
    print(now())
torch.accelerator.set_stream(torch.mps.Stream(stream_id=9))
print(now())
stream.synchronize()
torch._C._mps_setStream(None)
print(now())
try:
    torch.mps.set_stream(torch.Stream(stream_id=3, device_index=0, device_type=13))
except RuntimeError as error:
    print(error)
"""
    assert python(code, ANYMPS_AS_TORCH="2.15").stdout.splitlines() == [
        "(0, 0)",
        "(5, 5) True",
        "[(0, 0)]",
        "(5, 5)",
        "(0, 0) [2.0, 2.0, 2.0]",
        "(5, 5)",
        "(5, 5)",
        "(9, 9)",
        "(0, 0)",
        "invalid stream argument to setStream",
    ]


def test_events_are_for_the_default_stream(python):
    code = """
import torch
event = torch.mps.Event()
event.record()
with torch.mps.stream(torch.mps.Stream()):
    for method in (event.record, event.wait):
        try:
            method()
        except NotImplementedError as error:
            print(error)
    event.synchronize()
    print(event.query())
"""
    refused = "Non-default streams are not yet supported."
    assert python(code, ANYMPS_AS_TORCH="2.15").stdout.splitlines() == [refused, refused, "True"]


def test_generic_events_take_any_stream(python):
    code = """
import torch
a, b = torch.mps.Stream(), torch.mps.Stream()
event = torch.Event(device="mps")
event.record(a)
event.wait(b)
b.wait_event(event)
b.wait_stream(a)
a.record_event().synchronize()
print(event.query())
"""
    assert python(code, ANYMPS_AS_TORCH="2.15").stdout == "True\n"


def test_work_on_two_streams_is_that_of_one(python):
    code = """
import torch
first, second = torch.mps.Stream(), torch.mps.Stream()
torch.manual_seed(0)
model = torch.nn.Linear(8, 8).to("mps")
x = torch.randn(4, 8, device="mps")
with torch.mps.stream(first):
    loss = model(x).square().sum()
with torch.mps.stream(second):
    loss.backward()
torch.mps.synchronize()
expected = torch.nn.functional.linear(x, model.weight, model.bias)
print(torch.allclose(model.bias.grad, 2 * expected.sum(0)))
"""
    assert python(code, ANYMPS_AS_TORCH="2.15").stdout == "True\n"


def test_record_stream(python):
    code = """
import torch
x = torch.ones(1000, device="mps")
print(x.record_stream(torch.mps.Stream()))
try:
    x.record_stream(torch.Stream(stream_id=40, device_index=0, device_type=13))
except RuntimeError as error:
    print(error)
"""
    assert python(code, ANYMPS_AS_TORCH="2.15").stdout == "None\nstream_id=40 not found\n"
    before = "import torch; torch.ones(1, device='mps').record_stream(torch.Stream(device='mps'))"
    finished = python(before, check=False, ANYMPS_AS_TORCH="2.14")
    assert "The operator 'aten::record_stream' is not currently implemented for the MPS device." in finished.stderr


@pytest.mark.parametrize("release", ["2.13", "2.15"])
@pytest.mark.parametrize(("method", "verb"), [("query", "querying"), ("synchronize", "synchronizing")])
def test_the_guard_answers_no_more_than_pytorchs(python, release, method, verb):
    code = f"import torch; torch.Stream(device='mps').{method}()"
    finished = python(code, check=False, ANYMPS_AS_TORCH=release)
    assert f"RuntimeError: Backend doesn't support {verb} streams." in finished.stderr


def test_to_wait_for_a_stream_is_to_wait_for_its_work_alone(python):
    code = """
import torch
ones = torch.ones(4, device="mps")
first, second = torch.zeros(4), torch.zeros(4)
stream = torch.mps.Stream()
first.copy_(ones, non_blocking=True)
with torch.mps.stream(stream):
    second.copy_(ones, non_blocking=True)
print(first[0].item(), second[0].item())
torch.mps.default_stream().synchronize()
print(first[0].item(), second[0].item())
stream.synchronize()
print(second[0].item())
with torch.mps.stream(stream):
    second.copy_(ones + 1, non_blocking=True)
torch.mps.synchronize()
print(second[0].item())
"""
    told = python(code, ANYMPS_AS_TORCH="2.15", ANYMPS_RACES="adverse").stdout
    assert told.splitlines() == ["0.0 0.0", "1.0 0.0", "1.0", "2.0"]


def test_streams_run_beside_each_other(python):
    code = """
import threading, torch
totals = {}
def work(number):
    with torch.mps.stream(torch.mps.Stream()):
        tensor = torch.full((300, 300), float(number), device="mps")
        for step in range(100):
            tensor = torch.nn.functional.layer_norm((tensor @ tensor.t()) * 0.01, (300,)) + number
            if step % 10 == number:
                torch.mps.current_stream().synchronize()
        totals[number] = tensor.sum().item()
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print([totals[number] for number in range(4)])
"""
    outputs = {python(code, ANYMPS_AS_TORCH="2.15", ANYMPS_QUEUE=mode).stdout for mode in ("inline", "async")}
    assert len(outputs) == 1
