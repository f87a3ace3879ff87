"""What a release of PyTorch has for MPS that those before it lack: a script that each of them runs.

From `since` on it ends well, and prints what is in `prints`. Before, the last line on standard error is `before`, or
standard output is what stands there if nothing is refused.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Addition:
    since: str
    code: str
    prints: str
    before: str


NO_STREAM = "AttributeError: module 'torch.mps' has no attribute '{}'"

ADDITIONS = {
    "streams": Addition(
        since="2.15",
        code="""
import torch
stream = torch.mps.Stream()
with torch.mps.stream(stream):
    x = torch.arange(3, device="mps") + 1
    print(torch.mps.current_stream() == stream)
stream.synchronize()
print(torch.mps.current_stream() == torch.mps.default_stream(), x.tolist())
torch.mps.set_stream(torch.mps.default_stream())
""",
        prints="True\nTrue [1, 2, 3]",
        before=NO_STREAM.format("Stream"),
    ),
    "streams' pool": Addition(
        since="2.15",
        code="""
import torch
print([torch.mps.Stream().stream_id for _ in range(33)] == [*range(1, 33), 1])
try:
    torch.mps.Stream(stream_id=33)
except RuntimeError as error:
    print(error)
""",
        prints="True\nstream_id=33 not found",
        before=NO_STREAM.format("Stream"),
    ),
    "the current stream": Addition(
        since="2.15",
        code="import torch\nprint(torch.mps.current_stream())",
        prints="<torch.mps.Stream stream_id=0>",
        before=NO_STREAM.format("current_stream"),
    ),
    "events refuse other streams": Addition(
        since="2.15",
        code="""
import torch
event = torch.mps.Event()
with torch.mps.stream(torch.mps.Stream()):
    for method in (event.record, event.wait):
        try:
            method()
        except NotImplementedError as error:
            print(error)
""",
        prints="Non-default streams are not yet supported.\nNon-default streams are not yet supported.",
        before=NO_STREAM.format("stream"),
    ),
    "a stream of any accelerator": Addition(
        since="2.15",
        code="""
import torch
stream = torch.Stream(device="mps")
torch.accelerator.set_stream(stream)
print(stream.stream_id, torch.accelerator.current_stream().stream_id)
""",
        prints="1 1",
        before="0 0",
    ),
    "record_stream": Addition(
        since="2.15",
        code="""
import torch
print(torch.ones(3, device="mps").record_stream(torch.Stream(device="mps")))
""",
        prints="None",
        before="NotImplementedError: The operator 'aten::record_stream' is not currently implemented for the MPS",
    ),
    "streams' base class": Addition(
        since="2.14",
        code="""
import torch
first, second = torch._C._MPSStreamBase(), torch._C._MPSStreamBase()
torch._C._mps_setStream(second)
torch._C._mps_setStream(None)
print(first.stream_id, second.stream_id, first.device, first.synchronize())
""",
        prints="1 2 mps:0 None",
        before="AttributeError: module 'torch._C' has no attribute '_MPSStreamBase'",
    ),
    "active bytes": Addition(
        since="2.15",
        code="""
import torch
x = torch.ones(1000, device="mps")
print(torch.accelerator.memory_stats()["active_bytes.all.current"])
""",
        prints="4096",
        before="0",
    ),
    "heaps whose blocks are joined": Addition(
        since="2.14",
        code="""
import torch
held = [torch.empty(8 << 20, dtype=torch.uint8, device="mps") for _ in range(4)]
held[1:3] = []
held.append(torch.empty(9 << 20, dtype=torch.uint8, device="mps"))
print(torch.mps.driver_allocated_memory() >> 20)
""",
        prints="32",
        before="64",
    ),
}
