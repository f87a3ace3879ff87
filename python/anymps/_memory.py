"""anymps.memory: what the device's memory holds, and how it came to."""

from __future__ import annotations

import atexit
import os
import pickle
import warnings


class _Memory:
    """`anymps.memory()` is the state now; `record` and `snapshot` are its history."""

    def __call__(self) -> dict[str, int]:
        """The device's memory in bytes, now and at its peak since `torch.accelerator.reset_peak_memory_stats()`.

        `tensors` and `driver` are what `torch.mps` reports. `with_temporaries` adds what CPU kernels take while they
        run; a Mac's kernels take others. `this_machine` is what all of it takes here. `allocations` and `frees` are
        counts.
        """
        from anymps import _C

        return _C.memory()

    def record(self, enabled: bool = True, *, max_entries: int = 100_000, stacks: bool = True) -> None:
        """Begins to record every buffer and heap that is taken and given back, or with False ends and forgets it.

        The last `max_entries` entries are shown, with the Python stacks that asked for them unless `stacks` is False.
        Called again while it records, it changes these two and forgets nothing.
        """
        from anymps import _C

        if not enabled:
            _C.stop_recording_memory()
            return
        if max_entries < 1:
            raise ValueError(f"max_entries must be at least 1, got {max_entries}")
        if not _C.record_memory(max_entries, stacks):
            raise MemoryError("anymps: no memory for a trace of the device's memory")
        # Stacks need the interpreter; what is freed while it ends has none to tell.
        atexit.unregister(_C.stop_recording_memory)
        atexit.register(_C.stop_recording_memory)

    def snapshot(self, path: str | os.PathLike | None = None) -> dict:
        """The device's heaps and what was recorded, as `torch.cuda.memory._snapshot()` has them; with a path, pickled.

        `dropped` counts the events since `record()` that are no longer there.
        """
        from anymps import _C

        result, dropped, overwritten = _C.memory_snapshot()
        result["dropped"] = dropped
        if overwritten:
            warnings.warn(
                f"anymps.memory.snapshot: {overwritten} events that max_entries has room for were lost from the trace",
                stacklevel=2,
            )
        if path is not None:
            with open(path, "wb") as file:
                pickle.dump(result, file)
        return result


memory = _Memory()
