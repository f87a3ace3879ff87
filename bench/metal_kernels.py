"""How fast genuine Metal kernels are on our engine, against torch's CPU kernels for the same work, in one run.

    python bench/metal_kernels.py FOLDER               FOLDER holds the libraries: tools/genuine_kernels.py makes one
    python bench/metal_kernels.py FOLDER --only sum    kernels whose name contains this
    python bench/metal_kernels.py FOLDER --threads 2   with that many threads on both sides (default: 1)

The figure is torch's time over ours, so 1 is as fast and 0.5 half as fast: the median of interleaved rounds with its
paired-bootstrap 95% interval. Kernels are launched with the arguments and shapes of PyTorch's host code, and compiled
from the start for what they are launched with (ANYMPS_METAL_ENGINE names another engine); results are compared before
anything is timed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import pathlib
import random
import struct
import sys
from collections.abc import Callable

import stats
import torch
from rounds import calls_per_round, interleaved

ROUND_S = 0.004
SIZES = {"64K": 1 << 16, "4M": 1 << 22}
FOUR_A_THREAD = 1 << 18  # from where on PyTorch takes unary kernels with four elements a thread

# What torch's time over ours is to be at least, by family, in the geometric mean.
TARGETS = {"elementwise": 1.0, "special functions": 3.0, "norms and sums": 0.9}
UNARY = [
    "abs",
    "neg",
    "relu",
    "sqr",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "round",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "silu",
    "hardswish",
    "gelu",
]
BINARY = ["add", "sub", "mul", "maximum", "fmin", "lt", "atan2", "hypot", "fmod", "copysign", "logaddexp", "xlogy"]
SPECIAL = [
    "erf",
    "erfc",
    "erfinv",
    "erfcx",
    "digamma",
    "lgamma",
    "trigamma",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "entr",
    "sinc",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "spherical_bessel_j0",
]
SPECIAL_OF_TWO = ["zeta", "xlog1py", "igamma", "chebyshev_polynomial_t", "hermite_polynomial_h"]
TORCH = {
    "relu": torch.relu,
    "silu": torch.nn.functional.silu,
    "sqr": torch.square,
    "hardswish": torch.nn.functional.hardswish,
    "gelu": torch.nn.functional.gelu,
    "trigamma": lambda x: torch.polygamma(1, x),
}
WITHOUT_OUT = {"spherical_bessel_j0"}


@dataclasses.dataclass
class Pair:
    name: str
    kind: str
    ours: Callable[[], object]
    torchs: Callable[[], object]
    result: Callable[[], torch.Tensor]  # of ours, after a call
    expected: torch.Tensor
    tolerance: float


def packed(layout: str, *values) -> torch.Tensor:
    return torch.frombuffer(bytearray(struct.pack(layout, *values)), dtype=torch.uint8).to("mps")


def function_of(name: str) -> Callable:
    return TORCH.get(name) or getattr(torch.special, name, None) or getattr(torch, name)


def elementwise(library, kind: str, name: str, size: str) -> Pair:
    count = SIZES[size]
    x, y = torch.rand(count) * 0.9 + 0.05, torch.rand(count) + 1.5
    inputs = (x, y) if name in (*BINARY, *SPECIAL_OF_TWO) else (x,)
    if name == "zeta":
        inputs = (y, x)
    function = function_of(name)
    expected = function(*inputs)
    out, on_mps = torch.empty_like(expected, device="mps"), [t.to("mps") for t in inputs]
    host = torch.empty_like(expected)
    has_out = name not in TORCH and name not in WITHOUT_OUT
    into = (lambda: function(*inputs, out=host)) if has_out else (lambda: function(*inputs))
    types = "bool_float" if expected.dtype == torch.bool else "float_float"
    stem = f"{name}_forward" if "bessel" in name and "spherical" not in name else name
    four = len(inputs) == 1 and count >= FOUR_A_THREAD
    form = "dense" if four or len(inputs) == 2 else "dense_scalar"
    kernel = getattr(library, f"{stem}_{form}_{types}")
    arguments = [out, *on_mps, count] if four else [out, *on_mps]
    how = {"threads": count // 4, "arg_casts": "int32"} if four else {"threads": count}
    tolerance = 1e-3 if kind == "special functions" else 1e-5
    return Pair(f"{name}, {size}", kind, lambda: kernel(*arguments, **how), into, lambda: out, expected, tolerance)


def layer_norm(library, size: str) -> Pair:
    axis = 1024
    rows = SIZES[size] // axis
    x, weight, bias = torch.randn(rows, axis), torch.randn(axis), torch.randn(axis)
    out, mean, rstd = (torch.empty(shape, device="mps") for shape in ((rows, axis), (rows,), (rows,)))
    arguments = (x.to("mps"), out, mean, rstd, axis, 1e-5, 1, 1, weight.to("mps"), bias.to("mps"))
    casts, group = {4: "int32", 6: "int32", 7: "int32"}, axis // 4
    kernel = library.layer_norm_single_row_float
    return Pair(
        f"layer norm, {rows} x {axis}",
        "norms and sums",
        lambda: kernel(*arguments, threads=rows * group, group_size=group, arg_casts=casts),
        lambda: torch.native_layer_norm(x, (axis,), weight, bias, 1e-5),
        lambda: out,
        torch.nn.functional.layer_norm(x, (axis,), weight, bias),
        1e-4,
    )


def row_sum(library, size: str) -> Pair:
    columns, group = 1024, 256
    rows = SIZES[size] // columns
    x, out = torch.randn(rows, columns), torch.empty(rows, device="mps")
    arguments = (x.to("mps"), out, packed("II", rows, columns), 0.0)
    kernel = library.sum_reduction_inner_float_float
    return Pair(
        f"sum over rows, {rows} x {columns}",
        "norms and sums",
        lambda: kernel(*arguments, threads=-(-rows // (group // 32)) * group, group_size=group),
        lambda: x.sum(1),
        lambda: out,
        x.sum(1),
        1e-3,
    )


def running_sum(library, size: str) -> Pair:
    axis = 2048
    rows = SIZES[size] // axis
    x, out = torch.randn(rows, axis), torch.empty(rows, axis, device="mps")
    group, source, kernel = axis // 4, x.to("mps"), library.cumsum_innermost_float
    return Pair(
        f"cumsum, {rows} x {axis}",
        "scan",
        lambda: kernel(source, out, axis, threads=(group, rows, 1), group_size=(group, 1, 1)),
        lambda: x.cumsum(1),
        lambda: out,
        x.cumsum(1),
        1e-3,
    )


def sort(library) -> Pair:
    rows, size, group = 32, 2048, 512
    x = torch.randn(rows, size)
    values, indices = torch.empty(rows, size, device="mps"), torch.empty(rows, size, device="mps", dtype=torch.int64)
    kernel = library.sort_block_float_tptg512
    arguments = (x.to("mps"), values, indices, packed("i", size), packed("qq", 1, size), packed("?", False))
    return Pair(
        f"sort, {rows} x {size}",
        "sort",
        lambda: kernel(*arguments, threads=(group, rows, 1), group_size=(group, 1, 1)),
        lambda: x.sort(1),
        lambda: values,
        x.sort(1).values,
        0.0,
    )


def matmul(library) -> Pair:
    size, tile = 256, 16
    a, b = torch.randn(size, size), torch.randn(size, size)
    out = torch.empty(size, size, device="mps")
    strides = torch.tensor([size, 1] * 3, device="mps")
    arguments = (a.to("mps"), b.to("mps"), out, strides, packed("III", size, size, size))
    return Pair(
        f"matmul, {size} x {size}",
        "matmul",
        lambda: library.matmul_float(*arguments, threads=(size, size, 1), group_size=(tile, tile, 1)),
        lambda: a @ b,
        lambda: out,
        a @ b,
        1e-3,
    )


def attention(library) -> Pair:
    heads, keys, size = 8, 512, 64
    q, k, v = torch.randn(1, heads, 1, size), torch.randn(1, heads, keys, size), torch.randn(1, heads, keys, size)
    out = torch.empty_like(q, device="mps")
    strides = [[t.stride(d) for t in (q, k, v)] for d in range(3)]
    arguments = [t.to("mps") for t in (q, k, v)] + [out]
    arguments += [packed("I", 1), packed("I", keys), packed("3I", *strides[1]), packed("3I", *strides[2])]
    arguments += [packed("f", 1 / math.sqrt(size)), packed("I", 0), packed("4I", 0, 0, 0, 0)]
    arguments += [packed("4I", *strides[0], heads)]
    kernel = library.sdpa_vector_float_64_64_masknone
    return Pair(
        f"attention, 1 query, {keys} keys",
        "attention",
        lambda: kernel(*arguments, threads=(heads * 1024, 1, 1), group_size=(1024, 1, 1)),
        lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v),
        lambda: out,
        torch.nn.functional.scaled_dot_product_attention(q, k, v),
        1e-4,
    )


def pairs(library, only: str) -> list[Pair]:
    makers = []
    for size in SIZES:
        for kind, names in (("elementwise", (*UNARY, *BINARY)), ("special functions", (*SPECIAL, *SPECIAL_OF_TWO))):
            for name in names:
                makers.append((f"{name}, {size}", lambda n=name, k=kind, s=size: elementwise(library, k, n, s)))
        for title, make in (("layer norm", layer_norm), ("sum over rows", row_sum), ("cumsum", running_sum)):
            makers.append((f"{title}, {size}", lambda make=make, s=size: make(library, s)))
    for title, make in (("sort", sort), ("matmul", matmul), ("attention", attention)):
        makers.append((title, lambda make=make: make(library)))
    return [make() for title, make in makers if only in title]


def measure(pair: Pair, rounds: int, rng: random.Random) -> dict:
    pair.ours()
    torch.testing.assert_close(pair.result().cpu(), pair.expected, rtol=pair.tolerance, atol=pair.tolerance)
    work = {"ours": pair.ours, "torch": pair.torchs}
    calls = {side: calls_per_round(work[side], ROUND_S) for side in work}
    times = interleaved(work, calls, rounds, rng)
    ratio = stats.paired_ratio(times["torch"], times["ours"])
    return {
        "name": pair.name,
        "kind": pair.kind,
        "ours_us": min(times["ours"]) * 1e6,
        "torch_us": min(times["torch"]) * 1e6,
        **dataclasses.asdict(ratio),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    options = parser.parse_args()
    libraries = sorted(options.folder.glob("*.metallib"))
    if not libraries:
        parser.error(f"{options.folder} has no .metallib; tools/genuine_kernels.py makes some")
    os.environ.setdefault("ANYMPS_METAL_ENGINE", "specialised")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rng, rows = random.Random(0), []
    chosen = pairs(torch.mps.load_metallib(libraries[0]), options.only)
    if not chosen:
        parser.error(f"no kernel's name contains {options.only!r}")
    if not options.json:
        print(f"{'':32} {'ours, µs':>10} {'torch, µs':>10}   speed  95% interval")
    for pair in chosen:
        rows.append(measure(pair, options.rounds, rng))
        if not options.json:
            row = rows[-1]
            print(f"{row['name']:32} {row['ours_us']:10.1f} {row['torch_us']:10.1f}   {row['median']:5.3f}  "
                  f"[{row['low']:.3f}, {row['high']:.3f}]", flush=True)  # fmt: skip
    families = []
    for kind, target in TARGETS.items():
        ratios = [stats.Ratio(r["median"], r["low"], r["high"]) for r in rows if r["kind"] == kind]
        if ratios:
            families.append(
                {"family": kind, "kernels": len(ratios), "geomean": stats.geomean(ratios), "target": target}
            )
    if options.json:
        print(json.dumps({"kernels": rows, "families": families}, indent=1))
        return 0
    for family in families:
        said = "met" if family["geomean"] >= family["target"] else "missed"
        print(f"{family['family'] + ', geomean of ' + str(family['kernels']):55}   {family['geomean']:5.3f}  {'':14} "
              f">= {family['target']}  {said}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
