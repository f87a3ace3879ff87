"""Kernels of PyTorch 2.14 and later that call tensor operations, launched as its host code does, against numpy.

They are in the second library of those releases' macOS wheels (tools/genuine_kernels.py --torch 2.15.0).
"""

import os
import struct
from pathlib import Path

import numpy as np
import pytest

RANDOM = np.random.default_rng(0)


@pytest.fixture(scope="module")
def library() -> Path:
    folder = os.environ.get("ANYMPS_GENUINE_KERNELS")
    found = sorted(Path(folder).rglob("torch-2.1[4-9]*-1.metallib")) if folder else []
    if not found:
        pytest.skip("ANYMPS_GENUINE_KERNELS has no library with tensor operations: torch-2.15.0-1.metallib")
    return found[-1]


@pytest.fixture(params=["", "interpreter"])
def launch(call, library, tmp_path, request):
    """Launches a kernel and returns what is left in one of its buffers."""

    def launch_kernel(name: str, groups: tuple[int, ...], group: tuple[int, ...], buffers: list, output: int, **also):
        words = ["metal", "run", library, name]
        words += ["--threads", ",".join(str(g * t) for g, t in zip(groups, group, strict=True))]
        words += ["--group", ",".join(map(str, group))]
        for i, buffer in enumerate(buffers):
            if isinstance(buffer, bytes):
                (tmp_path / f"{i}.bin").write_bytes(buffer)
                words += ["--arg", f"uchar:@{tmp_path / f'{i}.bin'}"]
            elif isinstance(buffer, str):
                words += ["--arg", buffer]
            else:
                np.save(tmp_path / f"{i}.npy", buffer)
                words += ["--arg", f"@{tmp_path / f'{i}.npy'}"]
        engine = {"ANYMPS_METAL_ENGINE": request.param} if request.param else {}
        done = call(*words, "--out", f"{output}={tmp_path / 'out.npy'}", timeout=600, **engine, **also)
        assert done.returncode == 0, done.stderr
        return np.load(tmp_path / "out.npy").astype(np.float64)

    return launch_kernel


def tiles(extent: int, size: int) -> int:
    return -(-extent // size)


@pytest.mark.parametrize(("name", "tile"), [("gemmLU_64_64_4", (64, 64, 4)), ("gemmLU_32_64_2", (32, 64, 2))])
def test_update_of_lu(launch, name, tile):
    size, first, inner = 131, 33, (1, 32)
    a = RANDOM.standard_normal((size, size), dtype=np.float32)
    rest = size - first
    dims = [f"uint:{size},{size}", f"uint:{first},{size},{first},{size}", f"uint:{inner[0]},{inner[1]},0,0"]
    left = launch(name, (tiles(rest, tile[1]), tiles(rest, tile[0]), 1), (32 * tile[2], 1, 1), [a, *dims], 0)
    wanted = a.astype(np.float64)
    between = slice(inner[0], sum(inner))
    wanted[first:, first:] -= wanted[first:, between] @ wanted[between, first:]
    np.testing.assert_allclose(left.reshape(size, size), wanted, atol=1e-4)


# Named after GPUs whose lanes hold other elements of a matrix.
@pytest.mark.parametrize(("gpu", "mac"), [("a10", "m5-16gb"), ("a9", "m4-16gb")])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(launch, causal, gpu, mac):
    heads, queries, keys, size = 2, 70, 100, 64
    q, k, v = (RANDOM.standard_normal((heads, n, size)).astype(np.float16) for n in (queries, keys, keys))
    params = struct.pack("<6i2f", 1, heads, size, queries, keys, 1, size**-0.5, 1)
    for length in (queries, keys, keys, queries):
        params += struct.pack("<3q", 0, length * size, size)
    name = f"prefill_attention_mpp_{gpu}_float16_bq64_bk32_bd64_wm4_wn1_hm0_dc{int(causal)}_maskfloat16"
    buffers = [q, k, v, np.zeros(q.shape, np.float16), params, bytes(32), np.zeros(1, np.float16)]
    left = launch(name, (tiles(queries, 64), heads, 1), (32, 4, 1), buffers, 3, ANYMPS_MAC=mac)
    scores = np.einsum("hqd,hkd->hqk", q.astype(np.float64), k.astype(np.float64)) * size**-0.5
    if causal:
        scores = np.where(np.tril(np.ones((queries, keys), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = np.einsum("hqk,hkd->hqd", weights / weights.sum(-1, keepdims=True), v.astype(np.float64))
    np.testing.assert_allclose(left.reshape(wanted.shape), wanted, atol=5e-3)


def test_convolution(launch):
    channels, outputs, (depth, height, width) = 20, 70, (5, 13, 15)
    x = RANDOM.standard_normal((channels, depth, height, width), dtype=np.float32)
    w = RANDOM.standard_normal((outputs, channels, 3, 3, 3), dtype=np.float32) / 20
    bias = RANDOM.standard_normal(outputs, dtype=np.float32)
    out = tuple((n + 2 - 3) // 2 + 1 for n in (depth, height, width))
    conv2d = [1, channels, outputs, height, width, out[1], out[2], 3, 3, 2, 2, 1, 1, 1, 1, channels, outputs, 1]
    params = struct.pack("<25i", *conv2d, depth, out[0], 3, 2, 1, 1, 1)
    name = "conv3d_mpp_float_b64_w8_h8_s2_k333_s222_d111_cdyn_bias_ncdhw_ungrouped"
    activations = np.ascontiguousarray(x.transpose(1, 2, 3, 0))
    weights = np.ascontiguousarray(w.transpose(2, 3, 4, 1, 0))
    buffers = [activations, weights, np.zeros((outputs, *out), np.float32), params, bias]
    groups = (tiles(outputs, 64), tiles(out[2], 8), tiles(out[1], 8) * out[0])
    left = launch(name, groups, (64, 1, 1), buffers, 2)
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (1, 1)))
    wanted = np.zeros((outputs, *out)) + bias[:, None, None, None]
    for z, y, column in np.ndindex(3, 3, 3):
        seen = padded[:, z : z + 2 * out[0] : 2, y : y + 2 * out[1] : 2, column : column + 2 * out[2] : 2]
        wanted += np.einsum("oc,cdhw->odhw", w[:, :, z, y, column], seen[:, : out[0], : out[1], : out[2]])
    np.testing.assert_allclose(left.reshape(wanted.shape), wanted, atol=1e-4)
