"""anymps.memory.record and snapshot. What opens a snapshot is PyTorch's own viewer, torch/cuda/_memory_viz.py."""

import base64
import gc
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import weakref

import anymps
import pytest
import torch
from torch.cuda import _memory_viz

MIB = 1 << 20


@pytest.fixture
def recording():
    anymps.memory.record()
    yield
    anymps.memory.record(False)


def events(snapshot, action):
    return [event for event in snapshot["device_traces"][0] if event["action"] == action]


def names(frames):
    return [frame["name"] for frame in frames]


def live_blocks(snapshot):
    return {
        block["address"]: block
        for segment in snapshot["segments"]
        for block in segment["blocks"]
        if block["state"] == "active_allocated"
    }


def check_whole(snapshot):
    """The segments are the driver's figure, and their blocks lie one behind the other."""
    assert sum(segment["total_size"] for segment in snapshot["segments"]) == torch.mps.driver_allocated_memory()
    assert sum(block["size"] for block in live_blocks(snapshot).values()) == torch.mps.current_allocated_memory()
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at
            at += block["size"]
        assert at == segment["address"] + segment["total_size"]
        assert segment["allocated_size"] == sum(
            block["size"] for block in segment["blocks"] if block["state"] == "active_allocated"
        )


def check_replay(snapshot):
    """The viewer goes back from the segments, event by event: each must find what it undoes."""
    blocks = {address: block["requested_size"] for address, block in live_blocks(snapshot).items()}
    heaps = {segment["address"]: segment["total_size"] for segment in snapshot["segments"]}
    for event in reversed(snapshot["device_traces"][0]):
        if event["action"] == "alloc":
            assert blocks.pop(event["addr"]) == event["size"]
            assert any(heap <= event["addr"] < heap + size for heap, size in heaps.items())
        elif event["action"] == "free_completed":
            assert event["addr"] not in blocks
            blocks[event["addr"]] = event["size"]
        elif event["action"] == "free_requested":
            assert blocks[event["addr"]] == event["size"]
        elif event["action"] == "segment_alloc":
            assert heaps.pop(event["addr"]) == event["size"]
        elif event["action"] == "segment_free":
            assert event["addr"] not in heaps
            heaps[event["addr"]] = event["size"]


def test_memory_is_still_a_function():
    assert anymps.memory()["tensors"] == torch.mps.current_allocated_memory()


def test_without_a_recording_there_are_the_heaps():
    kept = torch.ones(1000, device="mps")
    snapshot = anymps.memory.snapshot()
    assert snapshot["device_traces"] == [[]]
    assert snapshot["dropped"] == 0
    assert kept.nbytes in [block["requested_size"] for block in live_blocks(snapshot).values()]
    check_whole(snapshot)


def make_a_tensor():
    return torch.ones(3 * MIB, dtype=torch.uint8, device="mps")


def test_each_event_has_the_stack_that_asked(recording):
    result = make_a_tensor() + 1
    snapshot = anymps.memory.snapshot()
    one, two = (event for event in events(snapshot, "alloc") if event["size"] == 3 * MIB)
    assert names(one["frames"])[:2] == ["make_a_tensor", "test_each_event_has_the_stack_that_asked"]
    assert one["frames"][0]["filename"] == __file__
    assert one["frames"][0]["line"] == make_a_tensor.__code__.co_firstlineno + 1
    assert names(two["frames"])[0] == "test_each_event_has_the_stack_that_asked"
    freed = [event for event in events(snapshot, "free_completed") if event["addr"] == one["addr"]]
    assert [event["size"] for event in freed] == [3 * MIB]
    assert freed[0]["frames"] == one["frames"], "of the allocation: what is it that was freed?"
    block = live_blocks(snapshot)[two["addr"]]
    assert (block["requested_size"], names(block["frames"])[0]) == (result.nbytes, names(two["frames"])[0])
    check_whole(snapshot)


def test_what_was_there_before_has_no_stack():
    anymps.memory.record(False)
    before = torch.ones(777, dtype=torch.uint8, device="mps")
    anymps.memory.record()
    after = torch.ones(779, dtype=torch.uint8, device="mps")
    blocks = live_blocks(anymps.memory.snapshot()).values()
    anymps.memory.record(False)
    frames = {block["requested_size"]: names(block["frames"]) for block in blocks}
    assert frames[before.nbytes] == []
    assert frames[after.nbytes][0] == "test_what_was_there_before_has_no_stack"


def test_heaps_come_and_go(recording):
    torch.mps.empty_cache()  # what other tests left
    size = 1100 * MIB  # larger than any heap that several buffers share, so it has its own
    held = torch.empty(size, dtype=torch.uint8, device="mps")
    del held
    torch.mps.empty_cache()
    snapshot = anymps.memory.snapshot()
    made = [event for event in events(snapshot, "segment_alloc") if event["size"] == size]
    assert names(made[0]["frames"])[0] == "test_heaps_come_and_go"
    assert made[0]["addr"] in [event["addr"] for event in events(snapshot, "segment_free")]
    check_whole(snapshot)
    check_replay(snapshot)


def train(steps):
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)).to("mps")
    optimiser = torch.optim.Adam(net.parameters())
    for _ in range(steps):
        optimiser.zero_grad()
        net(torch.randn(32, 64).to("mps")).square().mean().backward()
        optimiser.step()
    return net, optimiser


def test_pytorchs_viewer_opens_it(recording, tmp_path):
    kept = train(3)
    path = tmp_path / "snapshot.pickle"
    snapshot = anymps.memory.snapshot(path)
    check_replay(snapshot)
    assert pickle.loads(path.read_bytes()) == snapshot
    stats = _memory_viz.segsum(snapshot)  # it adds up the blocks itself and raises where they do not fit
    assert f"segments: {len(snapshot['segments'])}\n" in stats
    text = _memory_viz.trace(snapshot)
    assert text.startswith(f"Device 0 ----------------\n{len(snapshot['device_traces'][0])} entries\n")
    assert "MEM[" not in text, "an allocation outside of all segments"
    for view in (_memory_viz.memory, _memory_viz.segments):
        lines = view(snapshot, format_flamegraph=lambda lines: lines)
        assert "test_memory_history.py" in lines and ":train" in lines
    for name in ("trace_plot", "segment_plot"):
        page = tmp_path / f"{name}.html"
        subprocess.run(
            [sys.executable, _memory_viz.__file__, name, str(path), "-o", str(page)],
            check=True,
            env={**os.environ, "ANYMPS": "0"},
        )
        (file,) = json.loads(re.search(r"const local_files = (.*)", page.read_text()).group(1))
        assert pickle.loads(base64.b64decode(file["base64"])) == snapshot
    left = _memory_viz.filter_alloc_free_pairs(pickle.loads(path.read_bytes()))
    assert {event["addr"] for event in left["device_traces"][0] if event["action"] == "alloc"} <= set(
        live_blocks(snapshot)
    )
    del kept


def test_the_oldest_events_go_and_are_counted():
    gc.collect()
    anymps.memory.record(max_entries=10)
    kept = make_a_tensor()
    begun = len(anymps.memory.snapshot()["device_traces"][0])  # a heap may have been made for it
    for _ in range(3000):
        torch.empty(100, device="mps")
    snapshot = anymps.memory.snapshot()
    anymps.memory.record(False)
    assert [event["action"] for event in snapshot["device_traces"][0]] == [
        "free_completed" if i % 3 == 2 else ("alloc", "free_requested")[i % 3] for i in range(9)
    ]
    assert snapshot["dropped"] == begun + 2 * 3000 - 6
    block = next(b for b in live_blocks(snapshot).values() if b["requested_size"] == kept.nbytes)
    assert names(block["frames"])[0] == "make_a_tensor", "a live block has its stack, however long ago it was"
    check_replay(snapshot)


def test_stacks_of_what_is_gone_are_let_go():
    space = {"torch": torch}
    exec("def once():\n    return torch.empty(100, device='mps')", space)
    code = weakref.ref(space["once"].__code__)
    anymps.memory.record(max_entries=10)
    space.pop("once")()
    assert code() is not None
    for _ in range(5000):
        torch.empty(100, device="mps")
    gone = code() is None
    anymps.memory.record(False)
    assert gone


def test_without_stacks():
    anymps.memory.record(stacks=False)
    make_a_tensor()
    snapshot = anymps.memory.snapshot()
    anymps.memory.record(False)
    assert events(snapshot, "alloc")
    assert all(event["frames"] == [] for event in snapshot["device_traces"][0])


def test_stopping_forgets():
    anymps.memory.record()
    first = make_a_tensor()
    anymps.memory.record(False)
    assert anymps.memory.snapshot()["device_traces"] == [[]]
    anymps.memory.record(False)
    anymps.memory.record()
    second = torch.empty(100, device="mps")
    again = anymps.memory.snapshot()
    anymps.memory.record(False)
    assert [event["size"] for event in events(again, "alloc")] == [second.nbytes]
    assert all(b["frames"] == [] for b in live_blocks(again).values() if b["requested_size"] == first.nbytes)
    with pytest.raises(ValueError, match="max_entries must be at least 1, got 0"):
        anymps.memory.record(max_entries=0)


def test_threads_and_snapshots_at_once(recording):
    def work():
        held = []
        for i in range(100):
            held.append(torch.randn(1000 + i, device="mps") + 1)
            if len(held) > 10:
                held.pop(i % 10)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        snapshot = anymps.memory.snapshot()
        check_replay(snapshot)
    for thread in threads:
        thread.join()
    snapshot = anymps.memory.snapshot()
    check_replay(snapshot)
    check_whole(snapshot)
    asked = [event for event in events(snapshot, "alloc") if "work" in names(event["frames"])]
    assert len(asked) == 4 * 100 * 2


def test_out_of_memory(python):
    code = """
import anymps, torch
torch.mps.set_per_process_memory_fraction(0.01)
anymps.memory.record()
kept = torch.empty(1000, device="mps")
def too_much():
    torch.empty(1 << 30, dtype=torch.uint8, device="mps")
try:
    too_much()
except RuntimeError as error:
    assert "out of memory" in str(error)
snapshot = anymps.memory.snapshot()
oom, = (event for event in snapshot["device_traces"][0] if event["action"] == "oom")
assert oom["size"] == 1 << 30 and oom["frames"][0]["name"] == "too_much", oom
assert oom["device_free"] == torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory(), oom
from torch.cuda import _memory_viz
assert "raise OutOfMemoryError # 1.0GiB requested" in _memory_viz.trace(snapshot)
"""
    python(code)


def test_events_that_the_trace_had_no_room_for(python, tmp_path):
    # A run's trace holds 32768 records, of whatever kind.
    code = """
import anymps, torch, warnings
anymps.memory.record(max_entries=1_000_000, stacks=False)
for _ in range(20_000):
    torch.empty(100, device="mps")
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    snapshot = anymps.memory.snapshot()
kept = sum(event["action"] != "free_requested" for event in snapshot["device_traces"][0])
print(kept, snapshot["dropped"], *told[0].message.args)
"""
    kept, dropped, *text = python(code, ANYMPS_RUN=str(tmp_path)).stdout.split()
    assert int(kept) == 32768
    assert int(dropped) == 1 + 2 * 20_000 - 32768  # the first is the heap
    assert " ".join(text) == (
        f"anymps.memory.snapshot: {dropped} events that max_entries has room for were lost from the trace"
    )


def test_a_forked_child_begins_anew(python):
    code = """
import os, anymps, torch
anymps.memory.record()
kept = torch.empty(100, device="mps")
child = os.fork()
if child == 0:
    more = torch.empty(200, device="mps")
    snapshot = anymps.memory.snapshot()
    good = snapshot["device_traces"] == [[]] and len(snapshot["segments"]) == 1
    anymps.memory.record()
    most = torch.empty(300, device="mps")
    good = good and [event["size"] for event in anymps.memory.snapshot()["device_traces"][0]] == [1200]
    os._exit(0 if good else 1)
assert os.waitpid(child, 0)[1] == 0
assert [event["action"] for event in anymps.memory.snapshot()["device_traces"][0]] == ["segment_alloc", "alloc"]
"""
    python(code)


def test_a_recording_that_nobody_ends(python):
    # It ends with the program, before what was registered earlier and before the interpreter.
    code = """
import atexit, anymps, torch
atexit.register(lambda: print(anymps.memory.snapshot()["device_traces"]))
anymps.memory.record()
class AtTheEnd:
    def __del__(self):
        self.kept = torch.ones(100, device="mps") + 1
keeps = AtTheEnd()
x = torch.ones(10, device="mps", requires_grad=True)
(x * 2).sum().backward()
"""
    finished = python(code)
    assert (finished.stdout, finished.stderr) == ("[[]]\n", "")
