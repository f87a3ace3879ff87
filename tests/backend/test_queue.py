"""Operators in the device's queue (ANYMPS_QUEUE=async): the numbers and the memory that they have without it."""

import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).with_name("queue_program.py")


@pytest.fixture
def both(python):
    """Runs a snippet without and with the queue: what it prints must be the same. It is the snippet's last line."""

    def run(code: str) -> str:
        outputs = [python(code, ANYMPS_QUEUE=mode).stdout for mode in ("inline", "async")]
        assert outputs[0] == outputs[1]
        return outputs[0]

    return run


@pytest.mark.parametrize("seed", [0, 100])
def test_random_programs_are_equal_to_the_bit(seed, monkeypatch):
    monkeypatch.setenv("ANYMPS_QUEUE", "async")
    command = [sys.executable, PROGRAM, str(seed), "300", "6"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    assert int(finished.stdout.split()[-1]) > 1000, "the queue was hardly used"


def test_threads_streams_and_forks(monkeypatch):
    """The short form of `make stress-queue`."""
    monkeypatch.setenv("ANYMPS_QUEUE", "async")
    monkeypatch.setenv("ANYMPS_AS_TORCH", "2.15")
    command = [sys.executable, PROGRAM.with_name("queue_stress.py"), "3"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    assert int(finished.stdout.split()[0]) > 20, finished.stdout


TRAINING = """
import hashlib, torch
from torch import nn
torch.manual_seed(0)
{model}
model = model.to("mps")
x, target = x.to("mps"), target.to("mps")
optimizer = torch.optim.{optimizer}
for step in range(6):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), target)
    loss.backward()
    optimizer.step()
    print(torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory())
bits = b"".join(tensor.detach().cpu().numpy().tobytes() for tensor in (loss, *model.parameters(), *model.buffers()))
print(hashlib.sha256(bits).hexdigest())
"""
MODELS = {
    "layers": "model = nn.Sequential(nn.Linear(20, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 5))\n"
    "x, target = torch.randn(33, 20), torch.randn(33, 5)",
    "convolutions": "model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),"
    " nn.Conv2d(8, 8, 3, stride=2), nn.Flatten(), nn.Linear(8 * 49, 5))\n"
    "x, target = torch.randn(4, 3, 16, 16), torch.randn(4, 5)",
    "transformer": "model = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)\n"
    "x, target = torch.randn(3, 11, 32), torch.randn(3, 11, 32)",
    "recurrent": "class Model(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.lstm, self.head = nn.LSTM(8, 16, batch_first=True), nn.Linear(16, 4)\n"
    "    def forward(self, x):\n"
    "        return self.head(self.lstm(x)[0][:, -1])\n"
    "model = Model()\n"
    "x, target = torch.randn(5, 7, 8), torch.randn(5, 4)",
}
OPTIMIZERS = [
    "SGD(model.parameters(), lr=0.05, momentum=0.9)",
    "AdamW(model.parameters(), lr=0.01, foreach=False)",
    "Adam(model.parameters(), fused=True)",
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=["sgd", "adamw", "fused"])
@pytest.mark.parametrize("model", MODELS)
def test_training_is_equal_to_the_bit_and_to_the_byte(both, model, optimizer):
    both(TRAINING.format(model=MODELS[model], optimizer=optimizer))


RANDOM_NUMBERS = """
import hashlib, torch
torch.manual_seed(0)
bits = hashlib.sha256()
ones, x = torch.ones(600, 600, device="mps"), torch.ones(1000, device="mps")
order = torch.zeros(100, dtype=torch.int64, device="mps")
for step in range(3):
    x.fill_(1)
    busy = ones @ ones @ ones
    before = x * 2 + busy[0, 0] * 0
    x.uniform_()
    chances = x * 0.5 + busy[0, 0] * 0
    drawn = torch.bernoulli(chances)
    x[::2].normal_()
    x.mul_(2).random_(0, 9)
    later = order + busy[0, 0].long()
    torch.randperm(100, out=order)
    dropped = torch.nn.functional.dropout(before, 0.3)
    for tensor in (before, x, drawn, dropped, order, later, torch.randint(0, 99, (7,), device="mps")):
        bits.update(tensor.cpu().numpy().tobytes())
print(bits.hexdigest())
"""


def test_random_numbers_are_drawn_in_their_turn(both, python):
    assert both(RANDOM_NUMBERS) == python(RANDOM_NUMBERS, ANYMPS_RACES="adverse").stdout


def test_types_that_are_widened(both):
    assert both("""
import torch
x = torch.full((8,), 0.5 + 0.5j).to("mps").to(torch.complex32)
for step in range(3):
    for operator in (torch.exp, torch.sqrt, torch.tanh, torch.sigmoid, torch.neg, torch.rsqrt):
        print(operator(x).to(torch.complex64).cpu()[0])
    torch.mps.synchronize()
""")


def test_a_type_that_has_no_random_numbers_is_refused_at_the_call(both):
    assert "not implemented for 'Int'" in both("""
import torch
x = torch.ones(8, dtype=torch.int32, device="mps")
for step in range(3):
    try:
        x.exponential_()
    except RuntimeError as error:
        print(str(error).splitlines()[0])
""")


def test_a_probability_that_is_none_is_an_error_of_the_queue(both):
    assert "to be in [0, 1]" in both("""
import torch
chances = torch.full((4,), 0.5, device="mps")
torch.bernoulli(chances)
torch.bernoulli(chances * 3)
try:
    torch.mps.synchronize()
except RuntimeError as error:
    print(str(error).splitlines()[0])
""")


def test_an_error_of_the_call_is_raised_at_the_call(both):
    assert "must match" in both("""
import torch
a, b = torch.randn(3, 4, device="mps"), torch.randn(5, 4, device="mps")
for _ in range(3):
    print((a + 1).shape)
    try:
        a + b
    except RuntimeError as error:
        print(error)
    try:
        torch.mm(a, b)
    except RuntimeError as error:
        print(error)
""")


def test_integers_by_zero_are_an_error_of_the_call(both):
    assert "ZeroDivisionError" in both("""
import torch
for divisor in (1, 2, 0):
    try:
        print((torch.arange(4, device="mps") // torch.tensor([divisor], device="mps")).tolist())
    except RuntimeError as error:
        print(error)
""")


def test_threads_share_the_queue(both):
    both("""
import threading, torch
totals = {}
def work(number):
    torch.manual_seed(number)
    tensor = torch.full((50, 50), float(number), device="mps")
    for _ in range(200):
        tensor = (tensor * 1.01).tanh() + 0.5
    totals[number] = tensor.sum().item()
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print([totals[number] for number in range(4)])
""")


def test_a_child_has_what_was_queued_before_the_fork(python):
    finished = python(
        """
import os, torch
tensor = torch.ones(1000, device="mps")
for _ in range(300):
    tensor = tensor * 1.001
child = os.fork()
total = tensor.sum().item()
again = (tensor * 2).sum().item()
if child == 0:
    os._exit(0 if again == total * 2 and total > 1300 else 1)
print(os.waitpid(child, 0)[1], total > 1300)
""",
        ANYMPS_QUEUE="async",
    )
    assert finished.stdout == "0 True\n"


def test_a_program_may_end_with_work_in_flight(fresh_python):
    code = """
import torch
tensor = torch.ones(2000, 2000, device="mps")
for _ in range(40):
    tensor = (tensor * 1.001).tanh()
print("end")
"""
    finished = fresh_python(code, ANYMPS_QUEUE="async")
    assert finished.stdout == "end\n"
    assert finished.stderr == ""


def test_events_tell_when_the_work_before_them_is_done(python):
    finished = python(
        """
import torch
tensor = torch.ones(1000, 1000, device="mps")
tensor * 1.5
begin, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
begin.record()
for _ in range(20):
    tensor = (tensor * 1.001).tanh()
end.record()
end.synchronize()
print(begin.elapsed_time(end) > 0, end.query())
""",
        ANYMPS_QUEUE="async",
    )
    assert finished.stdout == "True True\n"


def test_a_word_that_is_neither_is_refused(python):
    finished = python("import torch\ntorch.ones(3, device='mps') + 1", check=False, ANYMPS_QUEUE="later")
    assert finished.returncode == 1
    assert "ANYMPS_QUEUE is later: it is inline or async" in finished.stderr


RACES = """
import torch
device = torch.device("mps")
numbers = torch.arange(600.0, device=device)
(numbers * 2).sum().item()
host = torch.full((600,), -1.0)
host.copy_(numbers, non_blocking=True)
print(host[7].item())
staging = torch.ones(50)
sent = staging.to(device, non_blocking=True)
staging.fill_(5)
torch.mps.synchronize()
print(host[7].item(), sent[3].item())
"""


def test_a_race_is_lost_where_that_is_asked_for(python):
    assert python(RACES, ANYMPS_RACES="", ANYMPS_QUEUE="inline").stdout.split() == ["7.0", "7.0", "1.0"]
    assert python(RACES, ANYMPS_RACES="adverse").stdout.split() == ["-1.0", "7.0", "5.0"]


@pytest.mark.parametrize("mode", ["inline", "async", "adverse"])
def test_who_waits_has_the_right_numbers(python, mode):
    names = {"ANYMPS_RACES": mode} if mode == "adverse" else {"ANYMPS_QUEUE": mode}
    finished = python(
        """
import torch
host = torch.empty(1000)
for round in range(50):
    source = torch.full((1000,), float(round))
    on_device = source.to("mps", non_blocking=True)
    del source
    host.copy_(on_device * 2 + 1, non_blocking=True)
    torch.mps.synchronize()
    assert host.tolist() == [round * 2.0 + 1] * 1000
print("ok")
""",
        **names,
    )
    assert finished.stdout == "ok\n"


def test_another_word_for_races_is_refused(python):
    finished = python("import torch\ntorch.ones(3, device='mps') + 1", check=False, ANYMPS_RACES="kind")
    assert "ANYMPS_RACES is kind: it is adverse, or not set" in finished.stderr


COPIES = """
import hashlib, torch
torch.manual_seed(0)
bits = hashlib.sha256()
ones = torch.ones(600, 600, device="mps")
for step in range(3):
    busy = (ones @ ones @ ones)[0, 0] * 0
    x = torch.arange(24.0, device="mps").reshape(4, 6) + busy
    y = x.t().clone()
    y[1:3].copy_(x[:2, :4])
    y[0] = x[3, 0]
    y[:, 1].copy_(x[1, 1])
    whole = torch.empty(4, 6, dtype=torch.int32, device="mps").copy_(x)
    half = x.to(torch.float16).contiguous(memory_format=torch.contiguous_format)
    x[:2].mul_(x[2:])
    x[:, 0].add_(x[:, 1])
    for refused in (lambda: x[:3].copy_(x[1:]), lambda: x[0].expand(2, 6).copy_(x[:2]), lambda: y.copy_(x)):
        try:
            refused()
        except RuntimeError as error:
            print(str(error).splitlines()[0][:60])
    x[1] = 7
    for tensor in (x, y, whole, half, x.conj(), torch.complex(x, x).conj().clone().real):
        bits.update(tensor.cpu().numpy().tobytes())
print(bits.hexdigest())
"""


def test_copies_within_the_device(both, python):
    said = both(COPIES)
    assert said.count("unsupported operation") == 6 and said.count("The size of tensor") == 3
    assert said == python(COPIES, ANYMPS_RACES="adverse").stdout


CHAINS = """
import hashlib, torch
torch.manual_seed(0)
bits = hashlib.sha256()
def keep(*tensors):
    for tensor in tensors:
        bits.update(tensor.cpu().contiguous().view(torch.uint8).numpy().tobytes())
for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.complex64):
    for count in (65536, 100003, 300007):
        a = (torch.randn(count, dtype=torch.float32) * 3).to(dtype).to("mps")
        b = (torch.randn(count, dtype=torch.float32) * 3).to(dtype).to("mps")
        for round in range(3):
            nobody_keeps = a
            for _ in range(9):
                nobody_keeps = (nobody_keeps + b) * a - b
            kept = [a + b]
            for _ in range(4):
                kept.append(torch.add(kept[-1] * kept[0], b, alpha=round))
            element = kept[2][5]                    # of a result that is still to come
            later = kept[3] * element + kept[1]
            shifted = later[1:] + later[:-1]        # other places of it
            backwards = later.view(-1)[:100].flip(0) - 1
            changed = a * 2
            before = changed + a
            changed.add_(b).mul_(before)
            changed = changed - a
            parts = torch.empty(2 * count, dtype=dtype, device="mps")
            parts[:count].copy_(a)
            parts[count:].copy_(b)
            parts[:count].add_(parts[count:])
            parts[count:].sub_(parts[:count]).mul_(element)
            if dtype.is_floating_point:
                later = (later * 1e-3).tanh().sigmoid().exp().neg() / (b * b + 1).sqrt()
                moved = b.clone().lerp_(a, 0.3).addcmul_(a, b, value=0.1).addcdiv_(a, b * b + 1, value=-0.2)
                keep(moved, torch.lerp(a, b, 0.7), torch.addcmul(a, moved, b))
            wide = a + b.to(torch.float32) if not dtype.is_complex else a
            keep(nobody_keeps, *kept, later, shifted, backwards, changed, before, parts, wide)
print(bits.hexdigest())
"""


@pytest.mark.parametrize("threads", ["1", "3"])
def test_operators_that_run_together_are_equal_to_the_bit(python, threads):
    modes = [{"ANYMPS_QUEUE": "inline"}, {"ANYMPS_QUEUE": "async"}, {"ANYMPS_RACES": "adverse"}]
    outputs = {python(CHAINS, OMP_NUM_THREADS=threads, **mode).stdout for mode in modes}
    assert len(outputs) == 1


def test_a_result_that_nobody_has_any_more_takes_no_memory(python):
    # Pages that nobody wrote to are not there.
    said = python(
        """
import torch
def resident():
    return int(open('/proc/self/statm').read().split()[1]) >> 8
b = torch.ones(1 << 22, device="mps")
x = b
for _ in range(2):  # the second time by the queue
    x = x + b
torch.mps.synchronize()
before = resident()
for _ in range(20):
    x = x + b
print(x[7].item(), resident() - before)
""",
        ANYMPS_QUEUE="async",
    ).stdout.split()
    assert float(said[0]) == 23 and int(said[1]) < 100, said


EVENTS = """
import time, torch
x = torch.ones(900, 900, device="mps")
def work():
    y = x
    for _ in range(60):
        y = y @ x
    return y
work()
for make in (torch.mps.Event, lambda **timed: torch.Event(device="mps", **timed)):
    first, last = make(enable_timing=True), make(enable_timing=True)
    torch.mps.synchronize()
    began = time.perf_counter()
    first.record()
    y = work()
    last.record()
    ahead = not last.query()
    while not last.query():
        time.sleep(0.001)
    took = 1e3 * (time.perf_counter() - began)
    y.sum().item()
    print(ahead, 0 < first.elapsed_time(last) <= took)
"""


def test_an_event_is_reached_when_the_device_gets_there(python):
    def ends(queue: str, races: str = "") -> list[str]:
        return python(EVENTS, ANYMPS_QUEUE=queue, ANYMPS_RACES=races).stdout.split()

    assert ends("async") == ["True"] * 4
    assert ends("inline") == ["False", "True"] * 2
    assert ends("async", "adverse") == ["False", "True"] * 2  # it runs when the host asks


INDICES = """
import torch
import torch.nn.functional as F
table = torch.arange(12.0).reshape(4, 3).to("mps").requires_grad_()
logits = torch.arange(12.0).reshape(4, 3).to("mps")
def step(row):
    rows = torch.tensor([0, row, 2]).to("mps", non_blocking=True)
    values = torch.ones(3, 3).to("mps", non_blocking=True)
    return (
        F.embedding(rows, table), table.detach()[rows], table.detach().gather(0, rows[:, None]),
        table.detach().index_add(0, rows, values), table.detach().index_put((rows,), values),
        table.detach().scatter_add(0, rows[:, None], values), torch.topk(logits, 2)[1], torch.sort(logits[:, row])[0],
        F.nll_loss(logits[:3], rows.clamp(max=2)), F.max_pool2d(logits.view(1, 1, 4, 3), 2, 1),
    )
for row in (1, 3, 2, 3):
    print([made.tolist() for made in step(row % 3)])
"""


def test_indices_go_into_the_queue(both, python):
    both(INDICES)
    assert both(INDICES) == python(INDICES, ANYMPS_RACES="adverse").stdout


BAD_ROWS = """
import sys
import torch
import torch.nn.functional as F
from anymps import _C
table = torch.zeros(4, 3, device="mps")
good, bad = torch.tensor([0, 1], device="mps"), torch.tensor([0, 9], device="mps")
calls = (
    lambda rows: table[rows],
    lambda rows: table.gather(0, rows[:, None]),
    lambda rows: F.embedding(rows, table),
    lambda rows: F.nll_loss(table[:2], rows),
)
for call in calls:
    call(good)
    torch.mps.synchronize()
    before = _C.queued_commands()
    found = call(bad)
    assert _C.queued_commands() > before
    try:
        torch.mps.synchronize()
    except RuntimeError as error:
        print(call.__code__.co_firstlineno, str(error).replace("\\n", " "))
"""


def test_a_bad_index_in_the_queue_names_its_line(python):
    program = f"exec(compile({BAD_ROWS!r}, 'program.py', 'exec'))"
    told = [line.split(" ", 1) for line in python(program, ANYMPS_QUEUE="async").stdout.splitlines()]
    words = ("index 9 is out of bounds for dimension 0 with size 4", "out of bounds", "9", "Target 9 is out of bounds.")
    assert len(told) == len(words)
    for (line, text), word in zip(told, words, strict=True):
        assert word in text
        assert f"The operator was called at program.py:{line};" in text


def test_calls_of_a_kind_do_not_mix_what_shares_memory(both):
    """They use one another's CPU tensors: x + x, x + y and views of one tensor are kinds of their own."""
    both("""
import torch
x, y = torch.arange(16.0).to("mps").view(4, 4), torch.ones(4, 4, device="mps")
for _ in range(3):
    for a, b in ((x, x), (x, y), (x, x.view(4, 4)), (x, x.t()), (y, y), (x.view(4, 4), x.view(4, 4))):
        print((a + b).sum().item(), (a - b).sum().item(), (a @ b).sum().item())
        total = a.clone()
        total.add_(b).mul_(total).addmm_(b, a)
        print(total.sum().item())
    for first in (0, 1, 2):
        print((x[first] * x[first + 1]).tolist())
    try:
        y.addmm_(y, x)
        torch.mps.synchronize()
    except RuntimeError as error:
        print(str(error).splitlines()[0])
""")


def test_a_program_may_end_with_operators_that_run_together_in_flight(fresh_python):
    code = """
import torch
tensor = torch.ones(2000, 2000, device="mps")
for _ in range(40):
    tensor = (tensor * 1.001 + tensor).tanh()
print("end")
"""
    finished = fresh_python(code, ANYMPS_QUEUE="async")
    assert finished.stdout == "end\n"
    assert finished.stderr == ""


PROFILED = """
import json, os, tempfile, torch
from torch.profiler import ProfilerActivity, profile
x = torch.randn(600, 600, device="mps", requires_grad=True)
def work():
    (x @ x).relu().sum().backward()
work()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
    for _ in range(3):
        work()
with tempfile.TemporaryDirectory() as folder:
    prof.export_chrome_trace(os.path.join(folder, "trace.json"))
    events = json.load(open(os.path.join(folder, "trace.json")))["traceEvents"]
kernels = [event for event in events if event.get("cat") == "kernel"]
calls = {event["args"]["External id"]: event for event in events if event.get("cat") == "cpu_op" and "args" in event}
later = 0
for kernel in kernels:
    call = calls[kernel["args"]["External id"]]
    assert call["name"].replace("aten::", "mps_") == kernel["name"], (call["name"], kernel["name"])
    assert call["ts"] - 100 <= kernel["ts"]
    later += kernel["ts"] > call["ts"] + call["dur"]
print(sum(kernel["name"] == "mps_mm" for kernel in kernels), later > 0)
"""


def test_the_profiler_shows_when_a_queued_operator_ran(python):
    assert python(PROFILED, ANYMPS_QUEUE="inline").stdout == "9 False\n"
    assert python(PROFILED, ANYMPS_QUEUE="async").stdout == "9 True\n"
