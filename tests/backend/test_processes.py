"""Tensors on the device are of one process, as on a Mac."""

import multiprocessing.reduction

import pytest
import torch
import torch.multiprocessing


@pytest.mark.parametrize("strategy", sorted(torch.multiprocessing.get_all_sharing_strategies()))
def test_a_tensor_is_not_passed_to_another_process(strategy):
    before = torch.multiprocessing.get_sharing_strategy()
    torch.multiprocessing.set_sharing_strategy(strategy)
    try:
        with pytest.raises(RuntimeError, match=r"_share_(fd|filename)_: only available on CPU"):
            multiprocessing.reduction.ForkingPickler.dumps(torch.ones(2, device="mps"))
    finally:
        torch.multiprocessing.set_sharing_strategy(before)
