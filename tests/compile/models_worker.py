"""Answers one model per line of stdin: is it, compiled on mps, what it is there without torch.compile? By models.py."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
for folder in ("conformance", "models", "check"):
    sys.path.insert(0, str(TESTS / folder))

import answers  # noqa: E402 - the tests' folders come first
import family  # noqa: E402
import torch  # noqa: E402
import zoo_generative  # noqa: E402, F401 - importing a zoo puts its models into the tour
import zoo_graph  # noqa: E402, F401
import zoo_parts  # noqa: E402, F401
import zoo_sequence  # noqa: E402, F401
import zoo_vision  # noqa: E402, F401
from tour import TOUR  # noqa: E402

# Sums in other orders, through all layers. Of the largest element, as the small ones cancel.
TOLERANCE = 1e-3
LEARNING_RATE = 0.01

Losses = Callable[[Callable], list[torch.Tensor]]


def from_the_tour(name: str) -> tuple[torch.nn.Module, Losses]:
    model = next(entry for entry in TOUR if entry.name == name).build()
    batch = {key: value.to("mps") for key, value in model.batch.items()}
    module = model.module.to("mps")
    return module, lambda compiled: [compiled(phase.loss)(module, batch) for phase in model.phases]


def from_a_family(name: str) -> tuple[torch.nn.Module, Losses]:
    torch.manual_seed(0)
    module, inputs = family.build(family.lines_of("families.txt")[name], random_parts=False)
    return module.train(), lambda compiled: [family.loss_of(compiled(module)(**inputs))]


SOURCES = {"tour": from_the_tour, "family": from_a_family}


def trained(item: str, compiled: Callable) -> dict[str, torch.Tensor]:
    """What one step leaves: losses, gradients, parameters and buffers."""
    source, name = item.split()
    module, losses_of = SOURCES[source](name)
    torch.manual_seed(1)
    losses = losses_of(compiled)
    sum(losses).backward()
    # A parameter that the loss does not depend on has none, or one of zeros: which is the compiler's choice.
    gradients = {
        f"gradient of {k}": torch.zeros_like(p) if p.grad is None else p.grad for k, p in module.named_parameters()
    }
    torch.optim.SGD(module.parameters(), LEARNING_RATE).step()
    named = {f"loss {k}": loss for k, loss in enumerate(losses)} | gradients | module.state_dict()
    return {name: value.detach().cpu() for name, value in named.items()}


def largest_difference(expected: dict[str, torch.Tensor], found: dict[str, torch.Tensor]) -> tuple[float, str]:
    """(Of the largest element of its tensor, which tensor)."""
    scale = max(float(v.abs().max()) for k, v in expected.items() if k.startswith("gradient") and v.numel())
    worst = (0.0, "")
    for name, value in expected.items():
        if not value.numel():
            continue
        # What is all but zero beside the others is rounding, and nothing else.
        size = max(float(value.abs().max()), scale * 1e-3 if name.startswith("gradient") else 1e-2)
        difference = float((value.double() - found[name].double()).abs().max()) / size
        worst = max(worst, (difference if difference == difference else float("inf"), name))
    return worst


def answer(item: str) -> dict:
    torch._dynamo.reset()
    expected = trained(item, lambda function: function)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    try:
        found = trained(item, torch.compile)
    except Exception as error:
        return {"outcome": "raised", "detail": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"] - graphs
    difference, where = largest_difference(expected, found)
    outcome = "equal" if difference <= TOLERANCE else "differs"
    if graphs == 0:
        outcome, where = "not compiled", "torch.compile made no graph of it"
    return {"outcome": outcome, "detail": f"{difference:.1e} {where}", "graphs": graphs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, help="file descriptor for the answers")
    parser.add_argument("--list", action="store_true", help="print all models as JSON and leave")
    options = parser.parse_args()
    if options.list:
        families = [f"family {name}" for name in family.lines_of("families.txt")]
        print(json.dumps([f"tour {entry.name}" for entry in TOUR] + families))
        return
    torch.set_num_threads(1)
    torch._dynamo.config.use_numpy_random_stream = True  # one family draws by NumPy, which Dynamo would replace
    answers.serve(options.answers, answer)


if __name__ == "__main__":
    main()
