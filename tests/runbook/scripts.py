"""The scripts of examples/lab, made small enough to be run often, and what each command is to say of them."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Script:
    name: str
    arguments: tuple[str, ...]
    epoch_steps: int = 0  # for scripts without a DataLoader
    # The status that each command is to end with.
    plateau: int = 0
    sweep: int = 0
    profile: int = 0
    decide: int = 0
    parity: int = 0
    finding: str = ""  # of the profile
    outcome: str = "mps"  # of the decision


SCRIPTS = (
    Script("vit_tiny.py", ("--image", "64", "--depth", "3", "--samples", "96", "--batch-size", "8", "--epochs", "10")),
    Script("slow_loader.py", ("--samples", "64", "--batch-size", "8", "--epochs", "10"), profile=1, decide=1,
           finding="input", outcome="fix the data plane and the batch first"),
    Script("lstm_words.py", ("--width", "64", "--steps", "8", "--batch-size", "8", "--epochs", "10"), epoch_steps=8),
    Script("leaks.py", ("--samples", "96", "--batch-size", "8"), plateau=1, decide=1, outcome="remote"),
    Script("item_each_step.py", ("--samples", "128", "--batch-size", "8", "--epochs", "10"), profile=1, decide=1,
           finding="waits", outcome="take the waits out of the loop"),
    Script("hangs.py", ("--samples", "16", "--batch-size", "4", "--epochs", "10"), plateau=1, sweep=1, profile=1,
           decide=2, parity=2, outcome="undecided"),
)  # fmt: skip

# Not of examples/lab: quick, and without the device, where it is the lab that fails or is killed.
SWEPT = """
import argparse, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int)
batch = parser.parse_args().batch_size
with open(pathlib.Path(__file__).with_name("runs.txt"), "a") as file:
    file.write(f"{batch}\\n")
import torch
weight = torch.nn.Parameter(torch.zeros(8))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(40):
    (weight.sum() * batch).backward()
    optimizer.step()
"""
