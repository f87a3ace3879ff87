"""A tour of models: three training steps on mps and on the CPU end with the same bits.

The kernels are the same, so equality alone would also hold if everything silently ran on the CPU device. The test
therefore also looks inside: each operator must be called with mps tensors and answer in the product's own heap.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

import optimisers
import train
import zoo_generative  # noqa: F401 - importing a zoo puts its models into the tour
import zoo_graph  # noqa: F401
import zoo_parts  # noqa: F401
import zoo_sequence  # noqa: F401
import zoo_vision  # noqa: F401
from tour import TOUR
from watch import Watch

CLOSE = 1e-5


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    # A reduction split over threads may round differently from run to run.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("entry", TOUR, ids=lambda e: e.name)
def test_three_steps_equal_the_cpus(entry):
    expected = train.train(entry, "cpu")
    got = train.train(entry, "mps")
    assert all(torch.isfinite(loss) for loss in expected.losses), "the model itself diverges: mend the model"
    assert not torch.equal(expected.losses[0], expected.losses[-1]), "the model does not learn: mend the model"

    named = {f"loss {i}": (a, b) for i, (a, b) in enumerate(zip(expected.losses, got.losses, strict=True))}
    named |= {name: (value, got.state[name]) for name, value in expected.state.items()}
    for name, (a, b) in named.items():
        if entry.close_because:
            torch.testing.assert_close(b, a, atol=CLOSE, rtol=CLOSE, msg=lambda text, name=name: f"{name}: {text}")
        else:
            assert torch.equal(a, b), f"{name}: differs by up to {(a - b).abs().max():.3g}"


@pytest.mark.parametrize("entry", TOUR, ids=lambda e: e.name)
def test_each_operator_comes_in_at_mps_and_answers_in_the_heap(entry):
    import anymps

    watch = Watch(anymps.in_heap)
    train.train(entry, "mps", steps=1, during=watch)
    assert sum(watch.calls.values()) > 5, "nothing was watched"
    assert watch.strays == []
    assert watch.unregistered == set()
    assert [name for name in entry.must_call if name not in watch.calls] == []


def test_the_tour_is_complete():
    names = [entry.name for entry in TOUR]
    assert len(set(names)) == len(names) >= 40
    assert {entry.optimiser for entry in TOUR} == set(optimisers.OPTIMISERS)
