"""Copies that do not wait, and a host that does before it reads or changes the memory."""

import numpy as np
import torch

device = torch.device("mps")
numbers = torch.arange(600.0, device=device).reshape(30, 20)


def reads():
    total = numbers.to("cpu", non_blocking=True)
    torch.mps.synchronize()
    total.sum()
    array = numbers.to("cpu", non_blocking=True)
    done = torch.mps.Event()
    done.record()
    done.synchronize()
    np.square(array.numpy())
    buffer = torch.zeros(30, 20)
    buffer.copy_(numbers, non_blocking=True)
    numbers.sum().item()  # waits for all that was queued before
    buffer[4:6].mean()
    other = torch.zeros(4, 20)
    other[1].copy_(numbers[1], non_blocking=True)
    other[2].sum()  # another part of the memory
    alike = numbers.to("cpu", non_blocking=True)
    torch.zeros_like(alike)
    print(alike.shape, alike.is_pinned())
    torch.mps.synchronize()
    alike.tolist()


def writes():
    staging = torch.ones(30, 20)
    first = staging.to(device, non_blocking=True)
    torch.mps.synchronize()
    staging.zero_()
    array = np.ones((30, 20), dtype=np.float32)
    second = torch.from_numpy(array).to(device, non_blocking=True)
    print(f"{second.sum().item():.1f}")
    array *= 2
    read = torch.ones(40)
    third = read.to(device, non_blocking=True)
    print(read.sum())  # who reads may read with the device
    converted = torch.ones(40, dtype=torch.int64)
    fourth = converted.to(device, torch.float32, non_blocking=True)
    converted.zero_()  # the device reads what it was converted to
    waited = torch.ones(40)
    fifth = waited.to(device)
    waited.zero_()
    for batch in torch.ones(3, 8, 4).unbind():
        batch = batch.to(device, non_blocking=True)  # the copy holds the host's memory
    torch.mps.synchronize()
    return first, second, third, fourth, fifth


reads()
writes()
