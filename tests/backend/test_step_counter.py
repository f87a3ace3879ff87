"""The counter behind `anymps size`: FLOPs and bytes of one step, against counts by hand."""

from types import SimpleNamespace

import torch
from anymps._counter import StepCounter


def count(work, place="train.py:9"):
    """What is counted of work that happens in the third step at a place that already took two."""
    facts = {}
    counter = StepCounter(SimpleNamespace(trace_fact=facts.__setitem__))
    for _ in range(2):
        counter.step_ended("SGD", place)
    work()
    counter.step_ended("SGD", place)
    return int(facts["step_flops"]), int(facts["step_bytes"])


def ones(*shape):
    return torch.ones(*shape, device="mps")


def test_traffic_is_what_an_operator_reads_and_writes():
    x, y = ones(1000), ones(1000)
    assert count(lambda: x + y) == (0, 3 * 4000)
    assert count(lambda: x + x) == (0, 2 * 4000)  # one tensor, read once
    assert count(lambda: ones(10, 1).expand(10, 100) + 1)[1] < 2 * 4000  # as large as what it repeats
    assert count(lambda: x.mul_(y)) == (0, 2 * 4000)


def test_views_and_the_host_move_nothing():
    x, host = ones(10, 100), torch.ones(10, 100)
    assert count(lambda: x.view(-1).reshape(100, 10).t()[3:].detach()) == (0, 0)
    assert count(lambda: host @ host.t())[1] == 0


def test_matrix_products_and_convolutions():
    a, b = ones(8, 16), ones(16, 32)
    assert count(lambda: a @ b)[0] == 2 * 8 * 16 * 32
    x, kernel = ones(2, 3, 8, 8), ones(5, 3, 3, 3)
    assert count(lambda: torch.nn.functional.conv2d(x, kernel, padding=1))[0] == 2 * (2 * 5 * 64) * (3 * 9)


def test_linear_backward_counts_what_is_asked_of_it():
    x, weight = ones(8, 16), ones(32, 16).requires_grad_()
    once = 2 * 8 * 16 * 32
    assert count(lambda: torch.nn.functional.linear(x, weight).sum().backward())[0] == 2 * once
    x.requires_grad_()
    assert count(lambda: torch.nn.functional.linear(x, weight).sum().backward())[0] == 3 * once


def test_attention_and_lstm():
    q, k, v = ones(2, 4, 16, 8), ones(2, 4, 32, 8), ones(2, 4, 32, 8)
    work = count(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v))
    assert work[0] == 2 * (2 * 4 * 16 * 32) * (8 + 8)
    lstm = torch.nn.LSTM(8, 16, batch_first=True).to("mps")
    x = ones(4, 10, 8)
    forward = 2 * 40 * 4 * 16 * (8 + 16)
    assert count(lambda: lstm(x))[0] == forward
    assert count(lambda: lstm(x)[0].sum().backward())[0] == 3 * forward


def test_only_the_first_place_is_counted_and_only_once():
    facts = {}
    counter = StepCounter(SimpleNamespace(trace_fact=facts.__setitem__))
    for place in ("a", "b", "b", "b", "b"):
        counter.step_ended("SGD", place)
    assert facts == {}
    counter.step_ended("SGD", "a")
    ones(2, 2) @ ones(2, 2)
    counter.step_ended("SGD", "a")
    counted = dict(facts)
    ones(2, 2) @ ones(2, 2)
    counter.step_ended("SGD", "a")
    assert facts == counted and facts["step_flops"] == str(2 * 8)
