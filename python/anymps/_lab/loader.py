"""Input: every DataLoader's batches, what they cost, and where an epoch ends."""

from __future__ import annotations

import time
from typing import Any

from .batches import first_tensor
from .lines import open_descriptors, resident_bytes
from .recorder import Recorder
from .stages import StageClock

# By its place among what a DataLoader is made with.
_NUM_WORKERS = 5
_OF_WORKERS_ONLY = ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context")


def samples_in(batch: Any) -> int:
    tensor = first_tensor(batch)
    return tensor.shape[0] if tensor is not None and tensor.dim() > 0 else 0


class LoaderWatch:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._loaders: dict[int, Any] = {}  # by number; kept, so that no other gets the same id
        self._active: Any = None  # the iterator that the latest batch came from
        self._active_number = -1
        self._coming = -1  # the loader whose iterator was made last
        self._fetches = 0
        self._clock = StageClock(recorder.spec["stage_names"]) if recorder.spec["stages"] else None
        self._next: Any = None

    def install(self) -> None:
        from torch.utils.data import DataLoader
        from torch.utils.data import dataloader as loaders
        from torch.utils.data._utils import fetch

        original_iter = DataLoader.__iter__
        self._next = original_next = loaders._BaseDataLoaderIter.__next__

        def __iter__(loader):
            iterator = original_iter(loader)
            self._new_iteration(loader)
            return iterator

        def __next__(iterator):
            self._recorder.first_activity()
            began = time.monotonic_ns()
            try:
                batch = original_next(iterator)
            except StopIteration:
                self._ended(iterator)
                raise
            self._batch(iterator, batch, time.monotonic_ns() - began)
            return batch

        DataLoader.__iter__ = __iter__
        loaders._BaseDataLoaderIter.__next__ = __next__
        for kind in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            self._watch_fetcher(kind)
        if self._recorder.spec["workers"] is not None:
            self._override_workers(DataLoader, self._recorder.spec["workers"])

    def _override_workers(self, kind, workers: int) -> None:
        original = kind.__init__

        def __init__(loader, *arguments, **keywords):
            if len(arguments) > _NUM_WORKERS:
                arguments = (*arguments[:_NUM_WORKERS], workers, *arguments[_NUM_WORKERS + 1 :])
            else:
                keywords["num_workers"] = workers
            if workers == 0:
                for name in _OF_WORKERS_ONLY:
                    keywords.pop(name, None)
            original(loader, *arguments, **keywords)

        kind.__init__ = __init__

    def _watch_fetcher(self, kind) -> None:
        original = kind.fetch

        def fetch(fetcher, indices):
            result = original(fetcher, indices) if self._clock is None else self._timed(original, fetcher, indices)
            self._fetches += 1
            if self._recorder.is_child and (self._fetches == 1 or self._fetches % 20 == 0):
                self._tell_use()
            return result

        kind.fetch = fetch

    def _timed(self, original, fetcher, indices):
        began = time.perf_counter_ns()
        result = self._clock.run(original, fetcher, indices)
        total = time.perf_counter_ns() - began
        stages, others = self._clock.take()
        self._recorder.lines.event("fetch", ns=total, stages=stages, others=others)
        return result

    def _tell_use(self) -> None:
        self._recorder.lines.event("use", fds=open_descriptors(), rss=resident_bytes(), fetches=self._fetches)

    def _number(self, loader) -> int:
        for number, known in self._loaders.items():
            if known is loader:
                return number
        number = len(self._loaders)
        self._loaders[number] = loader
        self._recorder.lines.event(
            "loader",
            id=number,
            batch_size=loader.batch_size,
            workers=loader.num_workers,
            pin_memory=loader.pin_memory,
            drop_last=loader.drop_last,
            prefetch=loader.prefetch_factor,
            persistent=loader.persistent_workers,
            worker_init=loader.worker_init_fn is not None,
            generator=loader.generator is not None,
            dataset=type(loader.dataset).__name__,
            sampler=type(loader.sampler).__name__,
        )
        return number

    def _new_iteration(self, loader) -> None:
        number = self._number(loader)
        # A loop that was broken off has ended all the same when its loader begins anew.
        if self._active is not None and self._active_number == number:
            self._recorder.epoch("loader")
        self._coming = number

    def _batch(self, iterator, batch, spent: int) -> None:
        if iterator is not self._active:
            self._active = iterator
            self._active_number = self._coming
        self._recorder.input_ns += spent
        self._recorder.samples += samples_in(batch)
        if not self._recorder.has_fact("batch_shape") and (tensor := first_tensor(batch)) is not None:
            self._recorder.fact("batch_shape", list(tensor.shape))

    def _ended(self, iterator) -> None:
        if iterator is self._active:
            self._active = None
            self._recorder.epoch("loader")

    def only_load(self) -> None:
        """Instead of the rest of the script: batch after batch of the loader that its first step was fed by."""
        recorder = self._recorder
        spec = recorder.spec
        if self._active is None:
            recorder.lines.event("error", text="no DataLoader fed the first step")
            return
        loader = self._loaders[self._active_number]
        iterator = self._active
        for index in range(spec["warm_up"] + (spec["steps"] or 50)):
            began = time.monotonic_ns()
            try:
                batch = self._next(iterator)
            except StopIteration:
                iterator = iter(loader)
                batch = next(iterator, None)
            spent = time.monotonic_ns() - began
            recorder.lines.event("load", i=index, ns=spent, n=samples_in(batch), counts=index >= spec["warm_up"])
        self._tell_use()
