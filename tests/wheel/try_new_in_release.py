"""Tries the rows of new_in_release.tsv that are of the installed PyTorch, and prints those that end otherwise.

python tests/wheel/try_new_in_release.py
"""

from __future__ import annotations

import csv
import pathlib
import re
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import linalg

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "cmake"))
from refusal_table import is_of  # noqa: E402 - found by the line above

RELEASE = ".".join(torch.__version__.split(".")[:2])
MISSING = "NotImplementedError: The operator 'aten::{}' is not currently implemented for the MPS device."


def table() -> list[dict[str, str]]:
    lines = (HERE / "new_in_release.tsv").read_text().splitlines()
    return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


def gradient(call, x: torch.Tensor) -> torch.Tensor:
    x = x.clone().requires_grad_()
    call(x).sum().backward()
    return x.grad


def narrow_ones() -> torch.Tensor:
    return torch.ones(32, 32).to(torch.float8_e4m3fn).to("mps")


def scaled_product() -> torch.Tensor:
    narrow = narrow_ones()
    one, tensor_wise = torch.ones(1, device="mps"), F.ScalingType.TensorWise
    return F.scaled_mm(narrow, narrow.T, one, tensor_wise, one, tensor_wise, output_dtype=torch.float32)


def names() -> dict[str, object]:
    torch.manual_seed(0)
    m = torch.rand(3, 3).to("mps") + torch.eye(3, device="mps")
    return {
        "torch": torch,
        "F": F,
        "linalg": linalg,
        "gradient": gradient,
        "scaled_product": scaled_product,
        "m": m,
        "c": torch.complex(m, m),
        "ones": torch.ones(2, 2, device="mps"),
        "narrow": narrow_ones(),
        "steps": torch.rand(5, 2, 4).to("mps").log_softmax(-1),
        "picture": torch.rand(1, 1, 6, 6).to("mps"),
        "small": torch.ones(32, 32, dtype=torch.int8, device="mps"),
        "index": torch.tensor([0, 4], device="mps"),
        "brain": torch.ones(32, 32, dtype=torch.bfloat16, device="mps"),
        "groups": torch.tensor([16, 32], dtype=torch.int32, device="mps"),
    }


def ends(expression: str, known: dict[str, object]) -> str:
    try:
        return "works" if eval(expression, dict(known)) else "is not true"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main() -> int:
    warnings.simplefilter("ignore")
    known, wrong, tried = names(), 0, 0
    for row in table():
        if not is_of(row["releases"], RELEASE):
            continue
        tried += 1
        expected = re.sub(r"\{missing (\S+)\}", lambda found: MISSING.format(found[1]), row["ends"])
        if not (found := ends(row["expression"], known)).startswith(expected):
            wrong += 1
            print(f"{row['expression']}\n    {found.splitlines()[0][:200]}\n    and not {expected}")
    print(f"{tried - wrong} of {tried} as in PyTorch {RELEASE}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
