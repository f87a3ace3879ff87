"""Attention with few queries (one and two passes) and with many (8x8 matrices)."""

import itertools
import math

import torch
from harness import Check, checks, is_since
from inputs import DTYPES
from packing import by_groups, mps, packed, rounding, words

BLOCKS = 32  # of the two-pass form
INF = float("inf")
PREFILL_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def draw(dtype, batch, heads, kv_heads, queries, keys, size):
    """Queries as the host gets them from a packed projection (strided), keys and values contiguous."""
    q = torch.randn(batch, queries, heads, size).to(dtype).transpose(1, 2)
    k = torch.randn(batch, kv_heads, keys, size).to(dtype)
    v = torch.randn(batch, kv_heads, keys, size).to(dtype)
    return q, k, v


def draw_mask(kind, dtype, batch, heads, queries, keys):
    """A mask that is broadcast over batch and heads; its first row hides all keys."""
    if kind == "none":
        return None, torch.zeros(1)
    seen = torch.rand(queries, keys) < 0.7
    seen[0] = False
    if kind in ("bool", "bool_"):
        mask, added = seen, torch.zeros(queries, keys).masked_fill(~seen, -INF)
    else:
        mask = torch.randn(queries, keys).to(dtype).masked_fill(~seen, -INF)
        added = mask
    return mask.expand(batch, heads, queries, keys), added.double()


def causal(queries, keys):
    return torch.full((queries, keys), -INF).triu(1).double()


def scores(q, k, factor, added):
    """Scores in double precision, for every query head."""
    k = k.double().repeat_interleave(q.size(1) // k.size(1), 1)
    return q.double() @ k.transpose(2, 3) * factor + added


def weighted(s, v, heads):
    """Softmax and the weighted sum; a query that sees nothing gives zero."""
    v = v.double().repeat_interleave(heads // v.size(1), 1)
    return torch.softmax(s, -1).nan_to_num(0.0) @ v


def vector_arguments(q, k, v, mask):
    strides = [[t.stride(d) for t in (q, k, v)] for d in range(3)]
    if mask is None:
        mask_arguments = [words(0), words(0, 0, 0, 0)]
    else:
        on_device = mps(mask[0, 0].contiguous())
        mask_arguments = [on_device, words(1, mask.size(3), 0, 0)]
    factor = 1 / math.sqrt(q.size(3))
    return [
        words(q.size(1) // k.size(1)),
        words(k.size(2)),
        words(*strides[1]),
        words(*strides[2]),
        packed("f", factor),
        *mask_arguments,
        words(*strides[0], q.size(1)),
    ]


def on_device(*tensors):
    """Copies that keep their strides."""
    return [mps(t.transpose(1, 2)).transpose(1, 2) if not t.is_contiguous() else mps(t) for t in tensors]


@checks(r"sdpa_vector_(?P<type>float|half|bfloat)_(?P<size>\d+)_\d+_mask(?P<mask>[a-z]+)(?P<causal>_causal)?")
def vector(kernel, match):
    dtype, size = DTYPES[match["type"]], int(match["size"])
    for batch, heads, kv_heads, queries, keys in [(2, 2, 1, 3, 45), (1, 1, 1, 1, 1)]:
        q, k, v = draw(dtype, batch, heads, kv_heads, queries, keys, size)
        mask, added = draw_mask(match["mask"], dtype, batch, heads, queries, keys)
        if match["causal"]:
            added = added + causal(queries, keys)
        out = torch.full((batch, heads, queries, size), 7.0, dtype=dtype, device="mps")
        by_groups(
            kernel,
            *on_device(q, k, v),
            out,
            *vector_arguments(q, k, v, mask),
            grid=(batch * heads, queries, 1),
            group=(1024, 1, 1),
        )
        expected = weighted(scores(q, k, 1 / math.sqrt(size), added), v, heads)
        # Sums of products in float32, and exp to 4 ulp.
        yield Check(f"{keys} keys", out, expected.to(dtype), rtol=2 * rounding(dtype), atol=2e-6)


@checks(r"sdpa_vector_2pass_1_(?P<type>float|half|bfloat)_(?P<size>\d+)_\d+_mask(?P<mask>[a-z]+)(?P<causal>_causal)?")
def first_pass(kernel, match):
    dtype, size = DTYPES[match["type"]], int(match["size"])
    batch, heads, kv_heads, queries, keys = 1, 2, 1, 2, 600
    q, k, v = draw(dtype, batch, heads, kv_heads, queries, keys, size)
    mask, added = draw_mask(match["mask"], dtype, batch, heads, queries, keys)
    if match["causal"]:
        added = added + causal(queries, keys)
    partials = torch.full((batch, heads, queries, BLOCKS, size), 7.0, dtype=dtype, device="mps")
    sums = torch.full((batch, heads, queries, BLOCKS), 7.0, device="mps")
    maxs = torch.full_like(sums, 7.0)
    by_groups(
        kernel,
        *on_device(q, k, v),
        partials,
        sums,
        maxs,
        *vector_arguments(q, k, v, mask),
        grid=(batch * heads, queries, BLOCKS),
        group=(256, 1, 1),
    )
    s = scores(q, k, 1 / math.sqrt(size), added)
    of_block = [torch.arange(keys) // 8 % BLOCKS == block for block in range(BLOCKS)]
    # A simdgroup's lanes beyond the eight rows put in -1e9.
    top = torch.stack([s[..., which].amax(-1).clamp(min=-1e9) for which in of_block], -1)
    shares = [torch.exp(s[..., which] - top[..., block, None]) for block, which in enumerate(of_block)]
    values = v.double().repeat_interleave(heads // kv_heads, 1)
    sums_expected = torch.stack([share.sum(-1) for share in shares], -1)
    partials_expected = torch.stack(
        [share @ values[:, :, which] for share, which in zip(shares, of_block, strict=True)], -2
    )
    # Scores are float32 sums of `size` products; what exp makes of their error is relative.
    yield Check("maxs", maxs, top.float(), rtol=2e-6, atol=2e-6)
    yield Check("sums", sums, sums_expected.float(), rtol=5e-6)
    yield Check("partials", partials, partials_expected.to(dtype), rtol=2 * rounding(dtype), atol=2e-5)


@checks(r"sdpa_vector_2pass_2_(?P<type>float|half|bfloat)_(?P<size>\d+)")
def second_pass(kernel, match):
    dtype, size = DTYPES[match["type"]], int(match["size"])
    heads, queries = 2, 3
    partials = torch.randn(heads, queries, BLOCKS, size).to(dtype)
    sums = torch.rand(heads, queries, BLOCKS) + 0.5
    maxs = torch.randn(heads, queries, BLOCKS) * 3
    maxs[0, 0, 5:] = -1e9  # blocks that saw nothing
    sums[0, 0, 5:] = 0
    partials[0, 0, 5:] = 0
    sums[1, 1], partials[1, 1] = 0, 0
    out = torch.full((heads, queries, size), 7.0, dtype=dtype, device="mps")
    by_groups(kernel, mps(partials), mps(sums), mps(maxs), out, grid=(heads, queries, 1), group=(1024, 1, 1))
    factor = torch.exp(maxs.double() - maxs.double().amax(-1, keepdim=True))
    total = (sums * factor).sum(-1, keepdim=True)
    expected = (partials.double() * factor[..., None]).sum(-2) / torch.where(total == 0, 1e-6, total)
    yield Check("aggregate", out, expected.to(dtype), rtol=2 * rounding(dtype), atol=2e-6)


@checks(
    r"prefill_attention_(?P<tensors>mpp_a(?:9|10)_)?(?P<type>\w+?)_bq(?P<bq>\d+)_bk(?P<bk>\d+)_bd(?P<bd>\d+)_wm(?P<wm>\d+)_wn(?P<wn>\d+)"
    r"_hm(?P<masked>[01])_dc(?P<causal>[01])_mask(?P<mask>\w+)"
)
def prefill(kernel, match):
    dtype = PREFILL_DTYPES[match["type"]]
    bq, size, wm, wn = (int(match[name]) for name in ("bq", "bd", "wm", "wn"))
    kind = match["mask"] if match["masked"] == "1" else "none"
    # Whole blocks, and blocks that are cut off on both sides.
    for batch, heads, kv_heads, queries, keys in [(1, 1, 1, bq, 64), (2, 2, 1, bq + 5, 43)]:
        q, k, v = draw(dtype, batch, heads, kv_heads, queries, keys, size)
        mask, added = draw_mask(kind, dtype, batch, heads, queries, keys)
        if match["causal"] == "1":
            added = added + causal(queries, keys)
        out = torch.full((batch, heads, queries, size), 7.0, dtype=dtype, device="mps")
        factor = 1 / math.sqrt(size)
        strides = itertools.chain(*(t.stride()[:3] for t in (q, k, v, out)))
        parameters = packed(
            "6i2f12q" if is_since("2.14") else "6i2f12i",
            batch,
            heads,
            size,
            queries,
            keys,
            heads // kv_heads,
            factor,
            1.0,
            *strides,
        )
        mask_strides = packed("4q", 0, 0, keys, 1) if is_since("2.14") else words(0, 0, keys, 1)
        mask_arguments = [words(0), words(0)] if mask is None else [mask_strides, mps(mask[0, 0].contiguous())]
        grid = (-(-queries // bq), heads, batch)
        by_groups(kernel, *on_device(q, k, v), out, parameters, *mask_arguments, grid=grid, group=(32, wm, wn))
        if is_since("2.14"):
            expected = weighted(scores(q, k, factor, added), v, heads)
        else:
            # The kernel scales the queries by scale / ln 2 in their own type, and takes powers of two.
            step = (torch.tensor(factor) * torch.tensor(1.44269504089)).to(dtype)
            expected = weighted(scores(q * step, k, math.log(2), added), v, heads)
        # By tensor operations the weights are of the type, too.
        atol = rounding(dtype) if match["tensors"] else 2e-6
        yield Check(f"{queries} queries, {keys} keys", out, expected.to(dtype), rtol=2 * rounding(dtype), atol=atol)
