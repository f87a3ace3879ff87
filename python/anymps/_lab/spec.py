"""What a command wants to know of a script: ANYMPS_LAB_SPEC, a JSON object."""

from __future__ import annotations

from typing import Any

DEFAULTS: dict[str, Any] = {
    # "window": time steps; "plateau": flush and measure memory at the end of each epoch; "parity": keep values;
    # "data": after the first step, only load batches; "forward": after it, only call the model, with one fixed batch.
    "mode": "window",
    "warm_up": 0,  # steps, or rounds, before those that count
    "seconds": None,  # ... or after so long, once three of them are done
    "steps": None,  # end the script after as many more
    "epochs": None,  # end the script after as many
    "epoch_steps": None,  # an epoch is so many steps; otherwise the loader's, or what anymps.epoch() says
    "lines": False,  # note the source line of each step
    "waits": False,  # time the calls that wait for the device, by line
    "sites": False,  # plateau: who made the tensors that are still there
    "stages": False,  # data: where the time of loading goes
    "stage_names": {},  # {"decode": ["my_reader"]}: functions of the user's for stages
    "workers": None,  # for every DataLoader that is made
    "seed": None,  # for all generators, before the script begins
    "no_dropout": False,
    "kept_steps": 1,  # parity: steps of which values are kept
    "kept_elements": 16384,  # of each tensor, at most, evenly spaced
}

STAGES = ("storage", "decode", "augment", "collate", "other")
