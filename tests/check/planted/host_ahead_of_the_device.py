"""Twenty ways to read or change the host's memory while a copy that does not wait still uses it."""

import numpy as np
import torch

device = torch.device("mps")
numbers = torch.arange(600.0, device=device).reshape(30, 20)


def reads():
    total = numbers.to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    total.sum()
    row = numbers[3].to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    row.tolist()
    array = numbers.to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    np.square(array.numpy())
    scalar = numbers.sum().to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    scalar.item()
    buffer = torch.zeros(30, 20)
    buffer.copy_(numbers, non_blocking=True)  # finds: non-blocking-to-host
    buffer[4:6].mean()
    history = torch.zeros(4, 20)
    history[1].copy_(numbers[1], non_blocking=True)  # finds: non-blocking-to-host
    history.std()
    part = numbers.to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    part.view(-1)[7].item()
    doubled = numbers.to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    torch.cat([doubled, doubled])
    printed = numbers[0, :3].to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    str(printed)
    compared = numbers.to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    torch.equal(compared, torch.zeros(30, 20))
    transposed = torch.zeros(20, 30).t()
    transposed.copy_(numbers, non_blocking=True)  # finds: non-blocking-to-host
    overwritten = numbers.to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    overwritten.zero_()
    returned = numbers.to("cpu", non_blocking=True)  # finds: non-blocking-to-host
    returned.to(device)


def writes():
    staging = torch.ones(30, 20)
    first = staging.to(device, non_blocking=True)  # finds: non-blocking-to-device
    staging.zero_()
    array = np.ones((30, 20), dtype=np.float32)
    second = torch.from_numpy(array).to(device, non_blocking=True)  # finds: non-blocking-to-device
    array *= 2
    rows = torch.ones(30, 20)
    third = torch.empty(30, 20, device=device).copy_(rows, non_blocking=True)  # finds: non-blocking-to-device
    rows[5] = 3
    filled = torch.ones(40)
    fourth = filled.to(device, non_blocking=True)  # finds: non-blocking-to-device
    torch.add(filled, 1, out=filled)
    random = torch.ones(40)
    fifth = random.to(device, non_blocking=True)  # finds: non-blocking-to-device
    random.uniform_()
    shared = torch.ones(40).share_memory_()
    sixth = shared.to(device, non_blocking=True)  # finds: non-blocking-to-device
    shared.numpy()[3] = 7
    words = bytearray(64)
    seventh = torch.frombuffer(words, dtype=torch.uint8).to(device, non_blocking=True)  # finds: non-blocking-to-device
    words[5] = 1
    torch.mps.synchronize()
    return first, second, third, fourth, fifth, sixth, seventh


reads()
writes()
