"""torch.mps.Event and torch.Event on the device, with PyTorch's texts."""

import pytest
import torch


def test_record_query_wait_synchronize():
    event = torch.mps.Event()
    assert not event.query()
    event.record()
    event.wait()
    event.synchronize()
    assert event.query()


def test_elapsed_time():
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    start.record()
    torch.randn(300, 300, device="mps") @ torch.randn(300, 300, device="mps")
    end.record()
    assert start.elapsed_time(end) > 0


def test_elapsed_time_wants_timing():
    start, end = torch.mps.Event(), torch.mps.Event()
    start.record()
    end.record()
    with pytest.raises(RuntimeError, match="Events were not created with argument 'enable_timing=True'"):
        start.elapsed_time(end)


def test_elapsed_time_wants_the_order():
    start, end = torch.mps.Event(enable_timing=True), torch.mps.Event(enable_timing=True)
    start.record()
    end.record()
    with pytest.raises(RuntimeError, match="was not recorded after start event"):
        end.elapsed_time(start)


def test_a_released_event_is_unknown():
    event = torch.mps.Event()
    number = event._Event__eventId
    torch._C._mps_releaseEvent(number)
    with pytest.raises(RuntimeError, match=f"Invalid Event ID: {number}"):
        event.record()
    event._Event__eventId = 0


def test_generic_event_and_stream():
    stream = torch.Stream(device="mps")
    assert stream.device == torch.device("mps:0")
    event = torch.Event(device="mps", enable_timing=True)
    event.record(stream)
    event.synchronize()
    assert event.query()
    later = torch.Event(device="mps", enable_timing=True)
    later.record(stream)
    assert event.elapsed_time(later) > 0


def test_accelerator_module():
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 1
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.set_device_index(0)
    assert torch.accelerator.current_stream().device.type == "mps"
    torch.accelerator.synchronize()
