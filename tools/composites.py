"""Writes data/coverage/composites.tsv: of which operators those are made that have no kernel of their own.

PyTorch's samples (OpInfo) of each composite operator run on the device, and its profiler tells what they call. Kept is
what some release of PyTorch has no MPS kernel for (data/coverage/history.txt), and whether all samples call it or some.
How an operator is made of others is that of the installed release.

    python tools/composites.py
"""

import collections
import contextlib
import os
import pathlib
import sys
import warnings

os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"  # an operator that is refused must not hide those behind it

import torch
from torch.testing._internal.common_methods_invocations import op_db

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "coverage"
MOST_SAMPLES = 40


def histories() -> dict[str, str]:
    rows = (line.split() for line in (DATA / "history.txt").read_text().splitlines() if not line.startswith("#"))
    return {row[0]: row[1] for row in rows if len(row) == 2}


class Known:
    """What is known of operators by their names alone, which is all that the profiler tells."""

    def __init__(self) -> None:
        self.rows = histories()
        self.by_name: dict[str, str] = {}  # the overload that stands for all
        for name in sorted(self.rows, key=lambda name: ("." in name, name.endswith("out"), name)):
            self.by_name.setdefault(name.partition(".")[0], name)

    def is_composite(self, name: str) -> bool:
        return "c" in self.rows[self.by_name[name]]

    def is_lacking(self, name: str) -> bool:
        return any(route in self.rows[self.by_name[name]] for route in "-f")


def parts_below(event, known: Known) -> set[str]:
    """The first on each way down that is no composite, where a release lacks it."""
    found = set()
    for child in event.cpu_children:
        name = child.name.removeprefix("aten::")
        if name not in known.by_name:
            continue
        if known.is_lacking(name):
            found.add(known.by_name[name])
        elif known.is_composite(name):
            found |= parts_below(child, known)
    return found


def parts_of(operator, function, name: str, known: Known) -> tuple[collections.Counter, int]:
    calls, samples = collections.Counter(), 0
    for sample in operator.sample_inputs("mps", torch.float32):
        if samples == MOST_SAMPLES:
            break
        profiled = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
        # A sample that MPS refuses for another reason tells as far as it came.
        with torch.no_grad(), profiled as profile, contextlib.suppress(Exception):
            function(sample.input, *sample.args, **sample.kwargs)
        own = [event for event in profile.events() if event.name == f"aten::{name}"]
        if not own:
            continue  # Python made it of others: it is not this operator
        samples += 1
        calls.update(set().union(*(parts_below(event, known) for event in own)) - {known.by_name[name]})
    return calls, samples


def main() -> None:
    known = Known()
    rows = {}
    for operator in op_db:
        functions = {operator.aten_name: operator.op}
        functions |= {alias.op.__name__: alias.op for alias in operator.aliases if alias.op is not None}
        for name, function in functions.items():
            if name not in known.by_name or not known.is_composite(name) or torch.float32 not in operator.dtypes:
                continue
            try:
                calls, samples = parts_of(operator, function, name, known)
            except Exception as error:
                print(f"{operator.name}: {error}".splitlines()[0], file=sys.stderr)
                continue
            for part, count in calls.items():
                called, of = rows.get((name, part), (0, 0))
                rows[name, part] = (called + count, of + samples)
    lines = [
        "# Operators that are made of others, and of these the ones that some release has no MPS kernel for.",
        f"# From the samples of PyTorch {torch.__version__.partition('+')[0]}'s OpInfo; by tools/composites.py.",
        "operator\tpart\tcalls",
    ]
    for (name, part), (called, of) in sorted(rows.items()):
        lines.append(f"{name}\t{part}\t{'all' if called == of else 'some'}")
    (DATA / "composites.tsv").write_text("\n".join(lines) + "\n")
    print(f"{len(rows)} rows", file=sys.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
