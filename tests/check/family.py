"""Trains one model of families.txt, or a small one by an optimiser of optimisers.txt, on mps.

    python family.py families.txt bert [--operators FILE]

--operators writes the names of the operators that were given a tensor of the device, overloads included, as PyTorch's
dispatcher tells them. families.py runs this under `anymps check`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import pathlib
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

HERE = pathlib.Path(__file__).parent
DEVICE = torch.device("mps")
STEPS = 2
BATCH = 2
# Of the tokens, where a line does not say it.
LENGTH = 16


def lines_of(file: str) -> dict[str, str]:
    """The lines of a list in this folder, by their first word."""
    lines = [line for line in (HERE / file).read_text().splitlines() if line and not line.startswith("#")]
    return {line.split()[0]: line for line in lines}


def words_and_options(line: str) -> tuple[list[str], dict[str, object]]:
    words = line.split()
    options = dict(word.split("=", 1) for word in words if "=" in word)
    return [word for word in words if "=" not in word], {
        name: ast.literal_eval(value) for name, value in options.items()
    }


class Inputs:
    """What each kind of model is given; a method for each word in families.txt."""

    def __init__(self, config, length: int) -> None:
        self.config = config
        self.length = length

    def text(self):
        tokens = self._tokens(self.config.vocab_size)
        return {"input_ids": tokens, "labels": tokens}

    def picture(self):
        return {"pixel_values": self._normal(3, 32, 32), "labels": self._classes()}

    def picture_only(self):
        return {"pixel_values": self._normal(3, 32, 32)}

    def picture_map(self):
        labels = torch.zeros(BATCH, 32, 32, dtype=torch.int64, device=DEVICE)
        return {"pixel_values": self._normal(3, 32, 32), "labels": labels}

    def picture_and_text(self):
        tokens = self._tokens(self.config.text_config.vocab_size)
        return {"input_ids": tokens, "pixel_values": self._normal(3, 32, 32), "return_loss": True}

    def video(self):
        return {"pixel_values": self._normal(self.config.num_frames, 3, 32, 32), "labels": self._classes()}

    def spectrum(self):
        frames = 2 * self.config.max_source_positions
        return {
            "input_features": self._normal(self.config.num_mel_bins, frames),
            "labels": self._tokens(self.config.vocab_size),
        }

    def wave(self):
        return {"input_values": self._normal(2000), "labels": 1 + self._tokens(self.config.vocab_size - 1)[:, :8]}

    def series(self):
        config = self.config
        past = config.context_length + max(config.lags_sequence)
        return {
            "past_values": self._normal(past),
            "past_time_features": self._normal(past, config.num_time_features),
            "past_observed_mask": torch.ones(BATCH, past, device=DEVICE),
            "future_values": self._normal(config.prediction_length),
            "future_time_features": self._normal(config.prediction_length, config.num_time_features),
        }

    def past(self):
        channels = self.config.num_input_channels
        return {
            "past_values": self._normal(self.config.context_length, channels),
            "future_values": self._normal(self.config.prediction_length, channels),
        }

    def _normal(self, *sizes: int) -> torch.Tensor:
        return torch.randn(BATCH, *sizes, device=DEVICE)

    def _tokens(self, count: int) -> torch.Tensor:
        # The first and the last few are often special.
        return torch.randint(4, count - 4, (BATCH, self.length), device=DEVICE)

    def _classes(self) -> torch.Tensor:
        return torch.zeros(BATCH, dtype=torch.int64, device=DEVICE)


def loss_of(output) -> torch.Tensor:
    if output.get("loss") is not None:
        return output["loss"]
    return sum(leaf.pow(2).mean() for leaf in tree_leaves(dict(output)) if torch.is_tensor(leaf) and leaf.requires_grad)


def without_random_parts(config) -> None:
    """Drops nothing and masks nothing, in the configurations inside it too."""
    for name, value in vars(config).items():
        if hasattr(value, "to_diff_dict"):
            without_random_parts(value)
        elif "drop" in name and isinstance(value, float):
            setattr(config, name, 0.0)
        elif name == "apply_spec_augment":
            config.apply_spec_augment = False


def build(line: str, random_parts: bool = True) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """A family's model and its inputs, on the device."""
    import transformers

    (_, class_name, kind), options = words_and_options(line)
    model_class = getattr(transformers, class_name)
    length = options.pop("length", LENGTH)
    config = model_class.config_class(**options)
    if not random_parts:
        without_random_parts(config)
    model = model_class(config).to(DEVICE)
    return model, getattr(Inputs(model.config, length), kind)()


def train_family(line: str) -> None:
    model, inputs = build(line)
    with torch.no_grad():
        model.eval()(**inputs)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model(**inputs)).backward()
        optimizer.step()
    torch.mps.synchronize()


def train_by_optimiser(line: str) -> None:
    made, scheduled = line.split("|")
    (_, class_name), options = words_and_options(made)
    (scheduler_name,), scheduler_options = words_and_options(scheduled)
    if scheduler_name in ("LambdaLR", "MultiplicativeLR"):
        scheduler_options["lr_lambda"] = lambda epoch: 0.9**epoch
    # Muon takes nothing but matrices.
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16, bias=False), torch.nn.GELU(), torch.nn.Linear(16, 4, bias=False)
    ).to(DEVICE)
    optimizer = getattr(torch.optim, class_name)(model.parameters(), lr=1e-3, **options)
    scheduler = getattr(torch.optim.lr_scheduler, scheduler_name)(optimizer, **scheduler_options)
    given, wanted = torch.randn(32, 8, device=DEVICE), torch.randn(32, 4, device=DEVICE)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(given), wanted)
        loss.backward()
        return loss

    for _ in range(4 * STEPS):
        loss = optimizer.step(closure)
        scheduler.step(*[loss.detach()] if scheduler_name == "ReduceLROnPlateau" else [])
    torch.mps.synchronize()


class Operators(TorchDispatchMode):
    """The operators that were given a tensor of the device."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs, result))
        if any(isinstance(leaf, torch.Tensor) and leaf.device.type == "mps" for leaf in leaves):
            self.names.add(func.name())
        return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("list", choices=("families.txt", "optimisers.txt"))
    parser.add_argument("name")
    parser.add_argument("--operators", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    train = train_family if arguments.list == "families.txt" else train_by_optimiser
    seen = Operators() if arguments.operators else contextlib.nullcontext()
    with seen:
        train(lines_of(arguments.list)[arguments.name])
    if arguments.operators:
        arguments.operators.write_text("\n".join(sorted(seen.names)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
