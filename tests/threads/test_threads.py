"""Eight threads that train eight models at once get the same numbers as one after the other.

What could go wrong is shared between threads in the product: the heap, the routing of the CPU allocator while an
operator runs, alias storages, the generator, counters. All models are different, so that a mix-up cannot cancel out.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))

import train
import zoo_generative  # noqa: F401 - importing a zoo puts its models into the tour
import zoo_graph  # noqa: F401
import zoo_parts  # noqa: F401
import zoo_sequence  # noqa: F401
import zoo_vision  # noqa: F401
from tour import TOUR

# Convolution, recurrence, attention, scatter, two optimisers, double backward, embedding, normalisation.
NAMES = (
    "resnet",
    "lstm",
    "transformer_encoder",
    "graph_attention",
    "gan_two_optimisers",
    "wgan_gradient_penalty",
    "embeddings_and_bags",
    "normalisations_2d",
)
STEPS = 8
ROUNDS = 3


def all_at_once(jobs) -> list:
    """Starts every job behind one barrier; returns their results, or raises the first exception."""
    barrier = threading.Barrier(len(jobs))
    results: list = [None] * len(jobs)

    def run(i: int, job) -> None:
        try:
            barrier.wait()
            results[i] = job()
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=(i, job)) for i, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@pytest.fixture(autouse=True)
def _one_kernel_thread():
    # A reduction split over threads may round differently from run to run, on any device.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_eight_threads_train_eight_models():
    entries = [next(e for e in TOUR if e.name == name) for name in NAMES]
    # Built beforehand: building draws from the CPU's generator, which the threads would share.
    models = {e.name: e.build() for e in entries}
    entries = [type(e)(e.name, lambda name=e.name: models[name], e.optimiser) for e in entries]

    alone = [train.train(e, "mps", STEPS) for e in entries]
    for _ in range(ROUNDS):
        together = all_at_once([lambda e=e: train.train(e, "mps", STEPS) for e in entries])
        for entry, a, b in zip(entries, alone, together, strict=True):
            assert all(torch.equal(x, y) for x, y in zip(a.losses, b.losses, strict=True)), entry.name
            assert all(torch.equal(a.state[k], b.state[k]) for k in a.state), entry.name


def test_threads_share_one_tensor_and_free_each_others_memory():
    """Each thread reads the same input and drops results that another thread made."""
    x = torch.arange(1 << 14, device="mps", dtype=torch.float32)
    expected = [((x.cpu() + i) * 2).sum() for i in range(8)]
    box: list = [None] * 8

    def job(i: int):
        for _ in range(200):
            box[(i + 3) % 8] = (x + i) * 2  # the earlier occupant is freed here, by another thread than made it
        return ((x + i) * 2).sum().cpu()

    got = all_at_once([lambda i=i: job(i) for i in range(8)])
    assert all(torch.equal(a, b) for a, b in zip(expected, got, strict=True))


def test_memory_comes_back_after_threads_end():
    before = torch.mps.current_allocated_memory()
    all_at_once([lambda: (torch.randn(256, 256, device="mps") @ torch.randn(256, 256, device="mps")).sum().item()] * 8)
    assert torch.mps.current_allocated_memory() == before


def test_random_streams_of_two_generators_do_not_mix():
    """A generator per thread gives each thread its own stream, whatever the others draw."""

    def draw(seed: int):
        g = torch.Generator("mps").manual_seed(seed)
        return [torch.rand(100, device="mps", generator=g).cpu() for _ in range(50)]

    alone = [draw(seed) for seed in range(8)]
    together = all_at_once([lambda s=s: draw(s) for s in range(8)])
    for a, b in zip(alone, together, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
