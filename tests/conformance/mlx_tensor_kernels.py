"""MLX's kernels that use Metal 4's tensor operations, one of each of its seven `_nax` files, against numpy.

    python tests/conformance/mlx_tensor_kernels.py ~/mlx [--anymps PROGRAM] [--interpreter] [--only TEXT]

The files themselves are compiled by tests/conformance/metal_sources.py; here each kernel is instantiated alone, from
the same headers, so that a run takes a minute. Exits with 1 where one differs.
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

KERNELS = "mlx/backend/metal/kernels"
RANDOM = np.random.default_rng(0)
Number = np.ndarray
TYPES = {"float16": "half", "float32": "float", "uint8": "uchar", "uint32": "uint"}


@dataclass
class Trial:
    """A kernel, what it is given, and what its output must be."""

    headers: list[str]
    template: str
    buffers: list[Number | bytes | str]
    output: int
    groups: tuple[int, int, int]
    group: tuple[int, int, int]
    wanted: Number
    tolerance: float  # of the largest number that is wanted
    constants: dict[int, int] = field(default_factory=dict)


def random(shape: tuple[int, ...], dtype: type = np.float16) -> Number:
    return RANDOM.standard_normal(shape).astype(dtype)


def double(array: Number) -> Number:
    return array.astype(np.float64)


def tiles(extent: int, size: int) -> int:
    return -(-extent // size)


def gemm_params(m: int, n: int, k: int, strides: tuple[int, int, int], tile: tuple[int, int, int], batch=(0, 0, 0)):
    counts = tiles(n, tile[1]), tiles(m, tile[0])
    return struct.pack("<8i3q3i4x", m, n, k, *strides, *counts, *batch, 0, k // tile[2], 0)


def steel(name: str) -> list[str]:
    return ["utils.h", "steel/gemm/gemm_nax.h", f"steel/gemm/kernels/steel_gemm_{name}_nax.h"]


def fused() -> Trial:
    m, n, k = 100, 90, 300
    a, b = random((m, k)), random((n, k))
    unused: list[Number | bytes | str] = ["uchar:zeros:24", "int:0", "long:0"]
    return Trial(
        steel("fused"),
        "gemm, half, 64, 64, 256, 2, 2, false, true, float",
        [a, b, "0", np.zeros((m, n), np.float16), gemm_params(m, n, k, (k, k, n), (64, 64, 256)), *unused],
        3,
        (tiles(n, 64), tiles(m, 64), 1),
        (128, 1, 1),
        double(a) @ double(b).T,
        1e-3,
        {10: 0, 100: 0, 110: 0, 200: 0, 201: 0, 202: 0},
    )


def splitk() -> Trial:
    m, n, k = 70, 90, 300
    a, b = random((k, m)), random((k, n))
    counts = tiles(n, 64), tiles(m, 64)
    params = struct.pack("<13i", m, n, k, m, n, n, *counts, 1, m * n, k, 0, k // 256)
    return Trial(
        steel("splitk"),
        "gemm_splitk_nax, half, 64, 64, 256, 2, 2, true, false, float",
        [a, b, np.zeros((m, n), np.float32), params],
        2,
        (counts[0] * counts[1], 1, 1),
        (128, 1, 1),
        double(a).T @ double(b),
        1e-5,
        {200: 0, 201: 0},
    )


def gather() -> Trial:
    m, n, k, experts = 40, 200, 256, 3
    a, b = random((m, k)), random((experts, k, n))
    which = np.sort(RANDOM.integers(0, experts, m)).astype(np.uint32)
    return Trial(
        steel("gather"),
        "gather_mm_rhs_nax, half, 16, 128, 128, 1, 4, false, false, float",
        [a, b, which, np.zeros((m, n), np.float16), gemm_params(m, n, k, (k, n, n), (16, 128, 128), (0, k * n, 0))],
        3,
        (tiles(n, 128), tiles(m, 16), 1),
        (128, 1, 1),
        np.einsum("mk,mkn->mn", double(a), double(b)[which]),
        1e-3,
        {200: 0, 201: 0, 202: 1},
    )


def segmented() -> Trial:
    m, n, k = 70, 80, 200
    a, b = random((m, k)), random((k, n))
    segments = np.array([0, 90, 90, 200], np.uint32)
    wanted = np.stack([double(a)[:, :90] @ double(b)[:90], double(a)[:, 90:] @ double(b)[90:]])
    return Trial(
        steel("segmented"),
        "segmented_mm_nax, half, 64, 64, 128, 2, 2, false, false, float",
        [
            a,
            b,
            segments,
            np.zeros((2, m, n), np.float16),
            gemm_params(m, n, k, (k, n, n), (64, 64, 128), (0, 0, m * n)),
        ],
        3,
        (tiles(n, 64), tiles(m, 64), 2),
        (128, 1, 1),
        wanted,
        1e-3,
        {199: 1, 200: 0, 201: 0},
    )


def attention() -> Trial:
    heads, queries, keys, size = 2, 70, 100, 64
    q, k, v = random((heads, queries, size)), random((heads, keys, size)), random((heads, keys, size))
    scale = size**-0.5
    blocks = tiles(queries, 64), tiles(keys, 32)
    whole = queries // 64, keys // 32
    params = struct.pack("<6if7i", 1, heads, size, queries, keys, 1, scale, *blocks, *whole, queries % 64, keys % 32, 0)
    for length in (queries, keys, keys, queries):
        params += struct.pack("<3q", 0, length * size, size)
    scores = np.exp(np.einsum("hqd,hkd->hqk", double(q), double(k)) * scale)
    wanted = np.einsum("hqk,hkd->hqd", scores / scores.sum(-1, keepdims=True), double(v))
    return Trial(
        ["utils.h", "steel/attn/kernels/steel_attention_nax.h"],
        "attention_nax, half, 64, 32, 64, 4, 1, half, float",
        [q, k, v, np.zeros(q.shape, np.float16), params, "uchar:zeros:24", "0", "0"],
        3,
        (blocks[0], heads, 1),
        (32, 4, 1),
        wanted,
        2e-3,
        {200: 0, 201: 0, 300: 0, 301: 0, 302: 0},
    )


def quantized() -> Trial:
    """Four bits for each weight, and for every 64 of them a scale and a bias."""
    m, n, k, bits, size = 40, 128, 256, 4, 64
    weights = RANDOM.integers(0, 16, (n, k)).astype(np.uint32)
    packed = sum(weights[:, i::8] << np.uint32(bits * i) for i in range(8)).astype(np.uint32)
    scales, biases = random((n, k // size)) * np.float16(0.1), random((n, k // size))
    x = random((m, k))
    dequantized = double(weights) * np.repeat(double(scales), size, 1) + np.repeat(double(biases), size, 1)
    nothing: list[Number | bytes | str] = ["0", "int:0", "long:0", "0", "int:0", "long:0", "long:0", "long:0"]
    return Trial(
        ["utils.h", "steel/gemm/gemm.h", "steel/gemm/nax.h", "steel/gemm/loader.h", "quantized_nax.h"],
        "affine_qmm_t_nax, half, 64, 4, true, false, 64, 64, 64, 2, 2",
        [packed, scales, biases, x, np.zeros((m, n), np.float16), f"{k}", f"{n}", f"{m}", *nothing],
        4,
        (tiles(n, 64), tiles(m, 64), 1),
        (32, 2, 2),
        double(x) @ dequantized.T,
        2e-3,
    )


def fp_quantized() -> Trial:
    """mxfp4: a float of four bits for each weight, and a power of two for every 32 of them."""
    m, n, k, size = 40, 128, 256, 32
    positive = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = np.concatenate([positive, -positive])
    weights = RANDOM.integers(0, 16, (n, k)).astype(np.uint32)
    packed = sum(weights[:, i::8] << np.uint32(4 * i) for i in range(8)).astype(np.uint32)
    exponents = RANDOM.integers(124, 129, (n, k // size)).astype(np.uint8)
    x = random((m, k))
    dequantized = values[weights] * np.repeat(2.0 ** (double(exponents) - 127), size, 1)
    nothing: list[Number | bytes | str] = ["0", "int:0", "long:0", "0", "int:0", "long:0", "long:0"]
    return Trial(
        ["utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "steel/gemm/nax.h", "fp_quantized_nax.h"],
        "fp_qmm_t_nax, half, 32, 4, true, false, 64, 64, 64, 2, 2",
        [packed, exponents, x, np.zeros((m, n), np.float16), f"{k}", f"{n}", f"{m}", *nothing],
        3,
        (tiles(n, 64), tiles(m, 64), 1),
        (32, 2, 2),
        double(x) @ dequantized.T,
        2e-3,
    )


TRIALS: list[Callable[[], Trial]] = [fused, splitk, gather, segmented, attention, quantized, fp_quantized]


def launch(trial: Trial, mlx: Path, program: str, folder: Path, environment: dict[str, str]) -> Number:
    source = folder / "kernel.metal"
    lines = ["#include <metal_stdlib>", *(f'#include "{KERNELS}/{header}"' for header in trial.headers)]
    source.write_text("\n".join([*lines, f'instantiate_kernel("k", {trial.template})', ""]))
    threads = ",".join(str(g * t) for g, t in zip(trial.groups, trial.group, strict=True))
    command = [program, "metal", "run", str(source), "k", "-I", str(mlx), "--threads", threads]
    command += ["--group", ",".join(map(str, trial.group))]
    for number, value in trial.constants.items():
        command += ["--constant", f"{number}={value}"]
    for i, buffer in enumerate(trial.buffers):
        if isinstance(buffer, str):
            command += ["--arg", buffer]
        elif isinstance(buffer, bytes):
            (folder / f"{i}.bin").write_bytes(buffer)
            command += ["--arg", f"uchar:@{folder / f'{i}.bin'}"]
        else:
            np.save(folder / f"{i}.npy", buffer)
            command += ["--arg", f"{TYPES[buffer.dtype.name]}:@{folder / f'{i}.npy'}"]
    out = folder / "out.npy"
    done = subprocess.run([*command, "--out", f"{trial.output}={out}"], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return np.load(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mlx", type=Path)
    parser.add_argument("--anymps", default=str(Path(sys.executable).parent / "anymps"), metavar="PROGRAM")
    parser.add_argument("--interpreter", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose name has it")
    options = parser.parse_args()
    environment = dict(os.environ)
    if options.interpreter:
        environment["ANYMPS_METAL_ENGINE"] = "interpreter"
    wrong = 0
    for make in TRIALS:
        if options.only not in make.__name__:
            continue
        trial = make()
        with tempfile.TemporaryDirectory() as scratch:
            got = launch(trial, options.mlx.resolve(), options.anymps, Path(scratch), environment)
        error = np.abs(double(got).reshape(trial.wanted.shape) - trial.wanted).max()
        allowed = trial.tolerance * np.abs(trial.wanted).max()
        good = bool(error <= allowed)
        wrong += not good
        print(f"{make.__name__:12} largest error {error:.2g}, allowed {allowed:.2g}: {'ok' if good else 'DIFFERS'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
