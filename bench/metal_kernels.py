"""How fast genuine Metal kernels are on our engine, against torch's CPU kernels for the same work, in one run.

    python bench/metal_kernels.py FOLDER               FOLDER holds the libraries: tools/genuine_kernels.py makes one
    python bench/metal_kernels.py FOLDER --only sum    kernels whose name contains this
    python bench/metal_kernels.py FOLDER --threads 2   with that many threads on both sides (default: 1)

The figure is torch's time over ours, so 1 is as fast and 0.5 half as fast: the median of interleaved rounds with its
paired-bootstrap 95% interval. Kernels are launched with the arguments and shapes of PyTorch's host code; results are
compared before anything is timed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import pathlib
import random
import struct
import sys
from collections.abc import Callable

import stats
import torch
from rounds import calls_per_round, interleaved

TARGET = 0.8  # of elementwise kernels, in the geometric mean
ROUND_S = 0.004
ELEMENTWISE = "elementwise"
COUNT = 200_000  # below 2^18, from where on PyTorch takes kernels with four elements a thread

UNARY = (
    "abs",
    "neg",
    "relu",
    "sqr",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "exp",
    "log",
    "tanh",
    "sigmoid",
    "silu",
    "erf",
    "sin",
)
BINARY = ("add", "sub", "mul", "maximum", "fmin", "lt")
TORCH = {"relu": torch.relu, "silu": torch.nn.functional.silu, "sqr": torch.square}


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


def elementwise(library, name: str) -> Pair:
    x, y = torch.rand(COUNT) + 0.5, torch.rand(COUNT) + 0.5
    inputs = (x, y) if name in BINARY else (x,)
    function = TORCH.get(name) or getattr(torch, name)
    expected = function(*inputs)
    kind = "bool" if expected.dtype == torch.bool else "float"
    form = "dense" if name in BINARY else "dense_scalar"
    kernel = getattr(library, f"{name}_{form}_{kind}_float")
    out, on_mps = torch.empty_like(expected, device="mps"), [t.to("mps") for t in inputs]
    host = torch.empty_like(expected)
    into = (lambda: function(*inputs)) if name in TORCH else (lambda: function(*inputs, out=host))
    return Pair(name, ELEMENTWISE, lambda: kernel(out, *on_mps, threads=COUNT), into, lambda: out, expected, 1e-5)


def four_a_thread(library, name: str) -> Pair:
    """The form that PyTorch takes from 2^18 elements on."""
    count = 1 << 20
    x = torch.rand(count) + 0.5
    out, source, host = torch.empty(count, device="mps"), x.to("mps"), torch.empty(count)
    kernel, function = getattr(library, f"{name}_dense_float_float"), getattr(torch, name)
    return Pair(
        f"{name}, four a thread",
        "elementwise, large",
        lambda: kernel(out, source, count, threads=count // 4, arg_casts="int32"),
        lambda: function(x, out=host),
        lambda: out,
        function(x),
        1e-5,
    )


def layer_norm(library) -> Pair:
    rows, axis = 64, 1024
    x, weight, bias = torch.randn(rows, axis), torch.randn(axis), torch.randn(axis)
    out, mean, rstd = (torch.empty(shape, device="mps") for shape in ((rows, axis), (rows,), (rows,)))
    arguments = (x.to("mps"), out, mean, rstd, axis, 1e-5, 1, 1, weight.to("mps"), bias.to("mps"))
    casts, group = {4: "int32", 6: "int32", 7: "int32"}, axis // 4
    kernel = library.layer_norm_single_row_float
    return Pair(
        f"layer norm, {rows} x {axis}",
        "norm",
        lambda: kernel(*arguments, threads=rows * group, group_size=group, arg_casts=casts),
        lambda: torch.native_layer_norm(x, (axis,), weight, bias, 1e-5),
        lambda: out,
        torch.nn.functional.layer_norm(x, (axis,), weight, bias),
        1e-4,
    )


def row_sum(library) -> Pair:
    rows, columns, group = 256, 1024, 256
    x, out = torch.randn(rows, columns), torch.empty(rows, device="mps")
    arguments = (x.to("mps"), out, packed("II", rows, columns), 0.0)
    kernel = library.sum_reduction_inner_float_float
    return Pair(
        f"sum over rows, {rows} x {columns}",
        "reduction",
        lambda: kernel(*arguments, threads=-(-rows // (group // 32)) * group, group_size=group),
        lambda: x.sum(1),
        lambda: out,
        x.sum(1),
        1e-3,
    )


def running_sum(library) -> Pair:
    rows, axis = 64, 2048
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
    makers = [lambda name=name: elementwise(library, name) for name in (*UNARY, *BINARY)]
    makers += [lambda name=name: four_a_thread(library, name) for name in ("abs", "exp")]
    makers += [lambda make=make: make(library) for make in (layer_norm, row_sum, running_sum, sort, matmul, attention)]
    return [pair for make in makers if only in (pair := make()).name]


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
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    options = parser.parse_args()
    libraries = sorted(options.folder.glob("*.metallib"))
    if not libraries:
        parser.error(f"{options.folder} has no .metallib; tools/genuine_kernels.py makes some")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rng, rows = random.Random(0), []
    chosen = pairs(torch.mps.load_metallib(libraries[0]), options.only)
    if not chosen:
        parser.error(f"no kernel's name contains {options.only!r}")
    if not options.json:
        print(f"{'':32} {'ours, us':>10} {'torch, us':>10}   speed  95% interval")
    for pair in chosen:
        rows.append(measure(pair, options.rounds, rng))
        if not options.json:
            row = rows[-1]
            print(f"{row['name']:32} {row['ours_us']:10.1f} {row['torch_us']:10.1f}   {row['median']:5.3f}  "
                  f"[{row['low']:.3f}, {row['high']:.3f}]", flush=True)  # fmt: skip
    mean = stats.geomean([stats.Ratio(r["median"], r["low"], r["high"]) for r in rows if r["kind"] == ELEMENTWISE] or
                         [stats.Ratio(1, 1, 1)])  # fmt: skip
    if options.json:
        print(json.dumps({"kernels": rows, "elementwise_geomean": mean, "target": TARGET}, indent=1))
    elif any(row["kind"] == ELEMENTWISE for row in rows):
        said = "met" if mean >= TARGET else "missed"
        print(f"{'elementwise, geomean':32} {'':10} {'':10}   {mean:5.3f}  {'':14} >= {TARGET}  {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
