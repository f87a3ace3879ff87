"""The kernel behind torch._assert_async: a message where an element's bits are all zero."""

import torch
from harness import Check, checks
from packing import as_bytes, error_buffer, errors_in, mps

TEXT = b"must not be zero"


@checks(r"assert_async_(?P<width>\d)")
def assert_async(kernel, match):
    for last_byte, count in [(128, 0), (0, 1)]:
        bits = torch.zeros(int(match["width"]), dtype=torch.uint8)
        bits[-1] = last_byte
        errors = error_buffer()
        kernel(mps(bits), mps(as_bytes(TEXT + b"\0")), errors, threads=1)
        counted, said = errors_in(errors)
        yield Check("how many", counted, torch.tensor([count], dtype=torch.int32))
    yield Check("what it says", as_bytes(said), as_bytes(TEXT))
