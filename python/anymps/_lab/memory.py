"""The memory of the device that the training is on."""

from __future__ import annotations

import gc


class DeviceMemory:
    """Of the device that the training is on."""

    def __init__(self) -> None:
        self.device = "cpu"

    def tensors(self) -> int:
        import torch

        if self.device == "mps":
            return torch.mps.current_allocated_memory()
        if self.device == "cuda":
            return torch.cuda.memory_allocated()
        return 0

    def driver(self) -> int:
        import torch

        if self.device == "mps":
            return torch.mps.driver_allocated_memory()
        if self.device == "cuda":
            return torch.cuda.memory_reserved()
        return 0

    def synchronize(self) -> None:
        import torch

        if self.device == "mps":
            torch.mps.synchronize()
        elif self.device == "cuda":
            torch.cuda.synchronize()

    def flush(self) -> None:
        import torch

        gc.collect()
        if self.device == "mps":
            torch.mps.empty_cache()
        elif self.device == "cuda":
            torch.cuda.empty_cache()
