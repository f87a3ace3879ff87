"""Apple's own kernels, as PyTorch's macOS wheel carries them, against the CPU's on values that a script really had.

python -m anymps._lab.genuine JSON, which is {"library": a .metallib, "operators": names of aten, "values": a file of a
recorder, "slices": [[offset, count], ...] of float32 in it}. Prints a JSON list, a row an operator that has a kernel.
"""

from __future__ import annotations

import json
import sys

# Operators of one operand whose kernel has their name. Those of a domain get operands from within it.
ANYWHERE = (
    "abs",
    "atan",
    "cos",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "neg",
    "relu",
    "sigmoid",
    "silu",
    "sin",
    "tanh",
)
POSITIVE = ("log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt")


def bare_name(operator: str) -> str:
    """Of "aten::exp_", "aten::_foreach_sqrt.out" and the like."""
    name = operator.removeprefix("aten::").partition(".")[0]
    return name.removeprefix("_foreach_").rstrip("_")


def wanted(operators: list[str]) -> list[str]:
    return sorted({bare_name(operator) for operator in operators} & {*ANYWHERE, *POSITIVE})


def places(values):
    """On a scale on which neighbouring floats differ by one."""
    import torch

    bits = values.view(torch.int32).long()
    return torch.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def difference(got, expected) -> dict:
    """Where either is not finite they must be equal; that is counted apart."""
    finite = got.isfinite() & expected.isfinite()
    same = (got == expected) | (got.isnan() & expected.isnan())
    a, b = got[finite], expected[finite]
    if a.numel() == 0:
        return {"max_ulps": 0, "max_relative": 0.0, "not_finite": int((~same).sum())}
    largest = b.abs().max().item()
    apart = (a - b).abs().max().item()
    return {
        "max_ulps": int((places(a) - places(b)).abs().max()),
        "max_relative": apart / largest if largest > 0 else apart,
        "not_finite": int((~same & ~finite).sum()),
    }


def operands(path: str, slices: list[list[int]]):
    import torch

    parts = []
    with open(path, "rb") as file:
        for offset, count in slices:
            file.seek(offset)
            data = file.read(4 * count)
            if len(data) == 4 * count and count > 0:
                parts.append(torch.frombuffer(bytearray(data), dtype=torch.float32))
    values = torch.cat(parts) if parts else torch.empty(0)
    return values[values.isfinite()]


def main() -> int:
    asked = json.loads(sys.argv[1])
    import torch

    values = operands(asked["values"], asked["slices"])
    names = wanted(asked["operators"])
    rows = []
    if names and values.numel() > 0:
        with open(asked["library"], "rb") as file:
            library = torch.mps.load_metallib(file.read())
        for name in names:
            kernel = f"{name}_dense_scalar_float_float"
            x = values.abs().clamp_min(1e-6) if name in POSITIVE else values
            out = torch.empty_like(x, device="mps")
            getattr(library, kernel)(out, x.to("mps"), threads=x.numel())
            expected = getattr(torch.ops.aten, name)(x)
            row = {"operator": f"aten::{name}", "kernel": kernel, "elements": x.numel()}
            rows.append(row | difference(out.cpu(), expected))
    print()
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
