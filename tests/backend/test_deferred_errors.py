"""Errors that a GPU finds while a kernel runs, and the host when it next waits."""

import pytest
import torch
import torch.nn.functional as F


def test_bad_index_shows_at_synchronisation():
    x = torch.zeros(3, device="mps")
    result = x[torch.tensor([0, 7], device="mps")]
    assert result.shape == (2,)
    with pytest.raises(torch.AcceleratorError, match="out of bounds"):
        torch.mps.synchronize()


def test_embedding_bag_names_the_bad_index():
    F.embedding_bag(
        torch.tensor([0, 1, 6], device="mps"), torch.randn(4, 2, device="mps"), torch.tensor([0, 3], device="mps")
    )
    with pytest.raises(torch.AcceleratorError, match="Index 2 is out of bounds: 6, range 0 to 4"):
        torch.mps.synchronize()


def test_what_the_host_refuses_leaves_nothing_behind():
    x = torch.empty(10, 0, device="mps")
    with pytest.raises(IndexError, match="size 0"):
        x[:, [0, 1]]
    torch.mps.synchronize()


def test_a_bad_row_of_an_embedding_is_told_at_the_next_synchronisation():
    table = torch.nn.Embedding(4, 3, scale_grad_by_freq=True).to("mps")
    rows = table(torch.tensor([0, 9, 2], device="mps"))
    assert rows.shape == (3, 3)
    rows.sum().backward()
    with pytest.raises(torch.AcceleratorError, match="Index 1 is out of bounds: 9, range 0 to 4"):
        torch.mps.synchronize()
    assert table(torch.tensor([3], device="mps")).shape == (1, 3)
    torch.mps.synchronize()


def test_what_the_host_refuses_of_an_index_is_refused_at_once():
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.index_select(torch.ones(3, device="mps"), 2, torch.tensor([0], device="mps"))
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.gather(torch.ones(2, 2, device="mps"), 5, torch.zeros(2, 2, dtype=torch.int64, device="mps"))
    torch.mps.synchronize()


def test_an_error_names_the_line_that_called_the_operator():
    rows = torch.zeros(3, device="mps")
    rows[torch.tensor([0, 7], device="mps")]
    rows + 1
    with pytest.raises(torch.AcceleratorError) as caught:
        torch.mps.synchronize()
    line = test_an_error_names_the_line_that_called_the_operator.__code__.co_firstlineno + 2
    assert f"test_deferred_errors.py:{line};" in str(caught.value)


SYNCHRONOUS = """
import torch
rows = torch.zeros(3, device="mps")
try:
    rows[torch.tensor([0, 7], device="mps")]
    print("nothing")
except torch.AcceleratorError as error:
    print(error)
torch.mps.synchronize()
"""


def test_a_synchronous_device_raises_at_the_call(python):
    told = python(SYNCHRONOUS, ANYMPS_SYNC="1").stdout
    assert told.startswith("index 7 is out of bounds")
    assert "was called at" not in told


def test_other_words_for_synchronous_are_refused(python):
    finished = python(
        "import torch\ntorch.ones(3, device='mps')[torch.tensor([9], device='mps')]", check=False, ANYMPS_SYNC="yes"
    )
    assert "ANYMPS_SYNC is yes: it is 0 or 1" in finished.stderr
