"""Indexing in TorchScript, whose interpreter makes lists of its own for indices."""

import pytest
import torch


@torch.jit.script
def pick(values: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return values[index]


@torch.jit.script
def pick_row(values: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return values[:, index]


@pytest.mark.parametrize("index", [torch.tensor([1, 0, 3]), torch.tensor([True, False, True, False, True])])
@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_an_index(index, device):
    values = torch.arange(5.0)
    assert torch.equal(pick(values.to("mps"), index.to(device)).cpu(), values[index])
    rows = torch.arange(15.0).view(3, 5)
    assert torch.equal(pick_row(rows.to("mps"), index.to(device)).cpu(), rows[:, index])


def test_a_bad_index_shows_at_synchronisation():
    assert pick(torch.zeros(3, device="mps"), torch.tensor([9], device="mps")).shape == (1,)
    with pytest.raises(torch.AcceleratorError, match="out of bounds"):
        torch.mps.synchronize()


def test_a_traced_function():
    traced = torch.jit.trace(lambda a, i: a[i] * 2, (torch.rand(5), torch.tensor([1, 2])))
    values = torch.arange(5.0, device="mps")
    assert traced(values, torch.tensor([4, 0], device="mps")).tolist() == [8, 0]
