"""What is measured: one piece of work, in the words of all three sides."""

from __future__ import annotations

import dataclasses

import torch


@dataclasses.dataclass(frozen=True)
class Step:
    """A launch; Metal's kernel and OpenCL's have the same name, arguments, threads and threadgroups."""

    kernel: str
    arguments: str  # names in Case.data
    threads: tuple[int, ...]
    group: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    file: str  # metal/FILE.metal, opencl/FILE.cl where there is one, and the function FILE of baseline.cpp
    data: dict[str, torch.Tensor | int | float]
    outputs: str  # names of tensors
    steps: tuple[Step, ...]
    baseline: str  # names of what the function takes
    tolerance: float = 0.0  # absolute and relative
    mismatches: float = 0.0  # the share of elements that may be further apart
    moved: int = 0  # bytes read and written, where the figure is a bandwidth

    def copy_of_data(self, device: str) -> dict[str, torch.Tensor | int | float]:
        """Each side has memory of its own."""
        return {
            name: value.clone().to(device) if isinstance(value, torch.Tensor) else value
            for name, value in self.data.items()
        }


def whole(count: int, group: int) -> dict:
    """Threads in a row."""
    return {"threads": (count,), "group": (group,)}


def disagreement(case: Case, data: dict, expected: dict) -> str:
    """What is wrong with a side's outputs; empty when nothing is."""
    for name in case.outputs.split():
        ours, theirs = data[name].cpu(), expected[name].cpu()
        close = torch.isclose(ours, theirs, rtol=case.tolerance, atol=case.tolerance)
        wrong = int((~close).sum())
        if wrong > case.mismatches * close.numel():
            at = int((~close).flatten().nonzero()[0])
            values = f"{ours.flatten()[at].item()} instead of {theirs.flatten()[at].item()}"
            return f"{name}: {wrong} of {close.numel()} elements differ, the first at {at}: {values}"
    return ""
