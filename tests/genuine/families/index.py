"""Indexing.metal: index and index_put of any rank, index_copy, index_fill, index_reduce, masked_fill and nonzero."""

import torch
from harness import Check, checks
from inputs import DTYPES, factors, hard, ordinary, whole
from launch import as_words, blank, ceil_div, flushed, round_up
from packing import DIMS, error_buffer, error_count, packed, padded

TYPE = r"(?P<type>float2|half2|float|half|bfloat|int|long|short|char|uchar|bool)"
BITS = {"8": torch.int8, "16": torch.int16, "32": torch.int32, "64": torch.int64}


def index_arguments(small: torch.Tensor, big: torch.Tensor, indices, small_first: bool) -> list:
    """Of x[indices[0], :, indices[1]]: TensorIterator's strides in bytes, of which indexed dimensions have none."""
    item = small.element_size()
    shape = list(small.shape)
    own = [item * stride for stride in small.stride()]
    indexed = [0, item * big.stride(1)]
    places = [8, 0]  # indices vary along the first dimension alone
    sizes = [big.size(0), big.size(2)]
    strides = [item * big.stride(0), item * big.stride(2)]
    first, second = (own, indexed) if small_first else (indexed, own)
    return [[*indices], shape, first, second, places, sizes, strides, packed("IIII", 2, 2, small.numel(), 0)]


def two_indices(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pairs that are all different, some of them counted from the end, the last out of range."""
    pairs = torch.randperm(6 * 9)[:count]
    first, second = pairs // 9, pairs % 9
    first[1::3] -= 6
    second[::4] -= 9
    first[-1] = 6
    return first, second


@checks(r"index_select_(?P<bits>\d+)bit")
def index_select(kernel, match):
    dtype = BITS[match["bits"]]
    x = hard(dtype, 6 * 5 * 9).view(6, 5, 9)
    first, second = two_indices(40)
    out, errors = blank(dtype, 40, 5), error_buffer()
    indices = (first.to("mps"), second.to("mps"))
    kernel(out, x.to("mps"), *index_arguments(out, x, indices, True), errors, threads=out.numel())
    expected = x[first[:-1], :, second[:-1]]
    yield Check("values", out, torch.cat([expected, torch.zeros(1, 5, dtype=dtype)]))
    yield Check("errors", error_count(errors), torch.tensor(5))


@checks(r"index_put_(?P<serial>serial_)?(?P<bits>\d+)bit")
def index_put(kernel, match):
    dtype = BITS[match["bits"]]
    start, values = ordinary(dtype, 6, 5, 9), hard(dtype, 40 * 5).view(40, 5)
    first, second = two_indices(40)
    if match["serial"]:  # in order: the last of several wins
        first[5], second[5] = first[30], second[30]
    out, errors = start.to("mps"), error_buffer()
    indices = (first.to("mps"), second.to("mps"))
    arguments = index_arguments(values, start, indices, False)
    kernel(out, values.to("mps"), *arguments, errors, threads=1 if match["serial"] else values.numel())
    expected = start.clone()
    for i in range(39):
        expected[first[i], :, second[i]] = values[i]
    yield Check("values", out, expected)
    yield Check("errors", error_count(errors), torch.tensor(5))


@checks(rf"index_put_accumulate_{TYPE}")
def index_put_accumulate(kernel, match):
    dtype = DTYPES[match["type"]]
    start, values = whole(dtype, 6, 6, 10, low=0, high=3), whole(dtype, 200, 6, low=0, high=3)
    first, second = torch.randint(-6, 6, (200,)), torch.randint(-10, 10, (200,))
    out, errors = start.to("mps"), error_buffer()
    indices = (first.to("mps"), second.to("mps"))
    kernel(out, values.to("mps"), *index_arguments(values, start, indices, False), errors, threads=values.numel())
    wide = torch.complex128 if dtype.is_complex else torch.float64
    where = (first[:, None].expand(200, 6), torch.arange(6).expand(200, 6), second[:, None].expand(200, 6))
    expected = start.to(wide).index_put(where, values.to(wide), accumulate=True)
    yield Check("values", out, (expected != 0) if dtype == torch.bool else expected.to(dtype))
    yield Check("errors", error_count(errors), torch.tensor(0))


@checks(rf"index_reduce_(?P<op>amax|amin|mean|prod)_{TYPE}_(?P<index>int|long)")
def index_reduce(kernel, match):
    dtype, index_type, op = DTYPES[match["type"]], DTYPES[match["index"]], match["op"]
    shape, count = (4, 10, 6), 30

    def operands(*shape):
        if op == "mean":  # the host divides afterwards
            return whole(dtype, *shape, low=0, high=3)
        return factors(dtype, *shape) if op == "prod" else ordinary(dtype, *shape)

    start, source = operands(*shape), operands(shape[0], count, shape[2])
    index = torch.randint(0, shape[1], (count,))
    spread = torch.zeros(2 * count, dtype=index_type)
    spread[::2] = index.to(index_type)

    arrays = [*padded(start.stride()), *padded(start.shape), *padded(source.stride()), *padded(source.shape)]
    out = start.to("mps")
    kernel(
        *(out, spread.to("mps"), source.to("mps"), packed(f"ii{4 * DIMS}II", 3, 1, *arrays, 2)),
        threads=source.numel(),
    )
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    places = index[None, :, None].expand_as(source)
    name = {"mean": "sum"}.get(op, op)
    expected = start.to(wide).scatter_reduce(1, places, source.to(wide), name)
    yield Check("values", out, expected.to(dtype))


@checks(rf"index_copy_(?P<form>dense|strided)_{TYPE}_(?P<index>int|long)_(?P<bits>32|64)")
def index_copy(kernel, match):
    dtype, index_type = DTYPES[match["type"]], DTYPES[match["index"]]
    start, source = ordinary(dtype, 4, 10, 6), hard(dtype, 4 * 7 * 6).view(4, 7, 6)
    index = torch.randperm(10)[:7]
    expected = as_words(start).index_copy(1, index, as_words(source))
    out = start.to("mps")
    if match["form"] == "dense":
        kernel(
            *(out, source.to("mps"), index.to(index_type).to("mps"), 10, 6, 7),
            threads=(6, 7, 4),
            group_size=(6, 7, 4),
        )
    else:
        index[::2] -= 10
        spread = torch.zeros(21, dtype=index_type)
        spread[::3] = index.to(index_type)
        memory = source.permute(1, 2, 0).contiguous()
        turned = memory.permute(2, 0, 1)
        strides = [start.stride(1), turned.stride(1)]
        slices = [[4, 6], [start.stride(0), start.stride(2)], [turned.stride(0), turned.stride(2)]]
        kernel(
            *(out, memory.to("mps"), spread.to("mps"), 10, *strides, *slices, packed("I", 2), 24, 3),
            threads=source.numel(),
        )
    yield Check("values", as_words(out), expected)


@checks(rf"index_fill_(?P<form>dense|strided)_(?P<mask>from_mask_)?{TYPE}")
def index_fill(kernel, match):
    dtype = DTYPES[match["type"]]
    value = hard(dtype, 14)[5:6]
    start = ordinary(dtype, 4, 10, 6)
    index = torch.randperm(10)[:4]
    mask = torch.zeros(10, dtype=torch.bool).index_fill(0, index, True)
    expected = start.clone()
    expected[:, mask] = value
    negative = torch.where(torch.arange(4) % 2 == 0, index, index - 10)
    memory = start.permute(1, 2, 0).contiguous()
    turned = memory.permute(2, 0, 1)
    dense = match["form"] == "dense"
    out = (start if dense else memory).to("mps")
    fill = value.to("mps")
    if match["mask"] and dense:
        kernel(out, mask.to("mps"), fill, packed("I", 10), packed("I", 6), threads=(6, 10, 4), group_size=(6, 10, 4))
    elif match["mask"]:
        sizes = ([4, 10, 6], list(turned.stride()), packed("I", 1), packed("I", 3))
        kernel(out, mask.to("mps"), fill, *sizes, threads=240)
    elif dense:
        kernel(out, negative.to("mps"), fill, 10, 6, 24, threads=4 * 24)
    else:
        spread = torch.zeros(8, dtype=torch.int64)
        spread[::2] = negative
        slices = ([4, 6], [turned.stride(0), turned.stride(2)], packed("I", 2), 24, 2)
        kernel(out, spread.to("mps"), fill, 10, turned.stride(1), *slices, threads=4 * 24)
    got = out.cpu()
    yield Check("values", got if dense else got.permute(2, 0, 1), expected)


@checks("index_fill_zero_mask")
def zero_mask(kernel, match):
    mask = torch.ones(300, dtype=torch.bool, device="mps")
    kernel(mask, threads=299)
    yield Check("mask", mask, torch.arange(300) == 299)


@checks("index_fill_set_mask")
def set_mask(kernel, match):
    mask = torch.zeros(300, dtype=torch.bool, device="mps")
    index = torch.randint(-300, 300, (80,))
    kernel(mask, index.to("mps"), 300, 2, threads=40)
    yield Check("mask", mask, torch.zeros(300, dtype=torch.bool).index_fill(0, index[::2], True))


@checks(r"kernel_index_offsets_(?P<bits>32|64)")
def index_offsets(kernel, match):
    dtype = BITS[match["bits"]]
    shape = torch.tensor([5, 7, 4])
    strides = torch.randint(0, 1000, (3, 3))
    count = int(shape.prod())
    out = blank(dtype, count, 4)
    kernel(strides.int().to("mps"), out, shape.int().to("mps"), packed("I", 3), threads=count)
    position = torch.stack([torch.arange(count) % 5, torch.arange(count) // 5 % 7, torch.arange(count) // 35], 1)
    # The fourth lane of a vector of three is padding.
    yield Check("offsets", out.cpu()[:, :3], (position @ strides).to(dtype))


@checks(r"masked_fill_scalar_(?P<form>dense|broadcast|strided)_(?P<bits>\d+)bit")
def masked_fill(kernel, match):
    dtype = BITS[match["bits"]]
    x, value = hard(dtype, 420).view(12, 35), torch.tensor([101], dtype=dtype)
    mask = torch.rand(35 if match["form"] == "broadcast" else (12, 35)).less(0.4)
    out = x.to("mps")
    if match["form"] == "strided":
        memory = mask.t().contiguous()
        sizes = ([12, 35], list(x.stride()), [1, 12], packed("I", 2))
        kernel(out, memory.to("mps"), value.to("mps"), *sizes, threads=420)
    else:
        count = [packed("I", 35)] if match["form"] == "broadcast" else []
        kernel(out, mask.to("mps"), value.to("mps"), *count, threads=420)
    yield Check("values", out, x.masked_fill(mask, 101))


def sparse(dtype: torch.dtype, count: int) -> torch.Tensor:
    x = hard(dtype, count)
    x[len(x) // 2 :: 2] = 0
    return x[torch.randperm(count)]


GROUP = 1024


@checks(rf"count_nonzero_prefix_sum_{TYPE}", before="2.14")
def count_nonzero(kernel, match):
    for count in (1, 45, 2500):
        x = sparse(DTYPES[match["type"]], count)
        blocks = ceil_div(count, GROUP)
        prefix, sums = blank(torch.int32, count), blank(torch.int32, blocks)
        kernel(x.to("mps"), prefix, sums, threads=count, group_size=min(GROUP, count))
        flags = (flushed(x) != 0).int()
        yield Check(f"prefix of {count}", prefix, torch.cat([p.cumsum(0) - p for p in flags.split(GROUP)]).int())
        yield Check(f"totals of {count}", sums, torch.stack([part.sum() for part in flags.split(GROUP)]).int())


@checks("prefix_sum_blocks", before="2.14")
def prefix_sum_blocks(kernel, match):
    for blocks in (1, 45, 3000):
        sums = torch.randint(0, 1025, (blocks,), dtype=torch.int32)
        offsets, total = blank(torch.int32, blocks), blank(torch.int32, 1)
        group = min(GROUP, round_up(blocks, 32))
        kernel(sums.to("mps"), offsets, total, packed("I", blocks), threads=group, group_size=group)
        yield Check(f"offsets of {blocks}", offsets, (sums.cumsum(0) - sums).int())
        yield Check(f"total of {blocks}", total, sums.sum(0, keepdim=True).int())


@checks(rf"scatter_nonzero_indices_{TYPE}", before="2.14")
def nonzero(kernel, match):
    x = sparse(DTYPES[match["type"]], 10 * 25 * 10)
    flags = flushed(x) != 0
    per_group = [part.int() for part in flags.split(GROUP)]
    prefix = torch.cat([part.cumsum(0) - part for part in per_group]).int()
    sums = torch.stack([part.sum() for part in per_group])
    offsets = (sums.cumsum(0) - sums).int()
    expected = flags.view(10, 25, 10).nonzero()
    out = blank(torch.int64, *expected.shape)
    kernel(
        *(x.to("mps"), prefix.to("mps"), out, packed("i", 3), [10, 25, 10], offsets.to("mps")),
        packed("i", len(expected) - 1),  # one less than there are: the last is not written
        threads=x.numel(),
        group_size=GROUP,
    )
    yield Check("indices", out, torch.cat([expected[:-1], torch.full((1, 3), 99)]))


BLOCKS_BEFORE = 3  # from 2.14 on large tensors go in parts: this many blocks are before the part
WIDTH = r"(?P<width>uint|ulong)"


@checks(rf"count_nonzero_prefix_sum_{TYPE}_{WIDTH}", since="2.14")
def count_nonzero_of_part(kernel, match):
    for count in (1, 45, 2500):
        before = BLOCKS_BEFORE * GROUP if count > GROUP else 0
        x = sparse(DTYPES[match["type"]], before + count)
        sums = blank(torch.int32, BLOCKS_BEFORE + ceil_div(count, GROUP))
        first = BLOCKS_BEFORE if before else 0
        kernel(x.to("mps"), sums, before, packed("I", first), threads=count, group_size=min(GROUP, count))
        flags = (flushed(x) != 0).int()[before:]
        expected = torch.stack([part.sum() for part in flags.split(GROUP)]).int()
        yield Check(f"totals of {count}", sums.cpu()[first : first + len(expected)], expected)


@checks(rf"prefix_sum_blocks_{WIDTH}", since="2.14")
def prefix_sum_of_blocks(kernel, match):
    for blocks in (1, 45, 3000):
        sums = torch.randint(0, 1025, (blocks,), dtype=torch.int32)
        offsets, total = blank(torch.int64, blocks), blank(torch.int64, 1)
        group = min(GROUP, round_up(blocks, 32))
        kernel(sums.to("mps"), offsets, total, packed("I", blocks), threads=group, group_size=group)
        yield Check(f"offsets of {blocks}", offsets, sums.long().cumsum(0) - sums)
        yield Check(f"total of {blocks}", total, sums.long().sum(0, keepdim=True))


@checks(rf"scatter_nonzero_indices_{TYPE}_{WIDTH}", since="2.14")
def nonzero_of_part(kernel, match):
    x = sparse(DTYPES[match["type"]], 10 * 25 * 10)
    flags = flushed(x) != 0
    sums = torch.stack([part.sum() for part in flags.split(GROUP)])
    offsets = sums.cumsum(0) - sums
    expected = flags.view(10, 25, 10).nonzero()
    out = blank(torch.int64, *expected.shape)
    for begin, end in ((0, GROUP), (GROUP, x.numel())):
        kernel(
            *(x.to("mps"), out, packed("i", 3), [10, 25, 10], offsets.to("mps")),
            *(
                len(expected) - 1,
                begin,
                packed("I", begin // GROUP),
            ),  # one less than there are: the last is not written
            threads=end - begin,
            group_size=GROUP,
        )
    yield Check("indices", out, torch.cat([expected[:-1], torch.full((1, 3), 99)]))


@checks(rf"index_add_{TYPE}_(?P<index>int|long)", since="2.14")
def index_add(kernel, match):
    dtype, index_type = DTYPES[match["type"]], DTYPES[match["index"]]
    start, source = whole(dtype, 4, 10, 6, low=0, high=3), whole(dtype, 4, 30, 6, low=0, high=3)
    index, alpha = torch.randint(0, 10, (30,)), whole(dtype, 2, low=2, high=2)[:1]
    spread = torch.zeros(60, dtype=index_type)
    spread[::2] = index.to(index_type)
    arrays = [*padded(start.stride()), *padded(start.shape), *padded(source.stride()), *padded(source.shape)]
    out = start.to("mps")
    layout = packed(f"ii{4 * DIMS}II", 3, 1, *arrays, 2)
    kernel(out, spread.to("mps"), source.to("mps"), layout, alpha.to("mps"), threads=source.numel())
    wide = torch.complex128 if dtype.is_complex else torch.float64
    added = source.to(wide) * alpha.to(wide)
    expected = start.to(wide).index_add(1, index, added)
    yield Check("values", out, (expected != 0) if dtype == torch.bool else expected.to(dtype))


@checks(r"index_check_bounds_(?P<index>int|long)", since="2.14")
def check_bounds(kernel, match):
    index = torch.arange(60).remainder(20).to(DTYPES[match["index"]])
    index[6], index[30], index[31] = 20, -1, 77  # the last is skipped
    errors = error_buffer()
    kernel(index.to("mps"), packed("I", 2), 20, errors, threads=30)
    yield Check("errors", error_count(errors), torch.tensor(2))


@checks(r"index_select_dim_(?P<dense>dense_)?(?P<bits>\d+)bit_(?P<index>int|long)", since="2.14")
def index_select_dim(kernel, match):
    """What is out of range is taken from the end: another kernel reports it."""
    dtype = BITS[match["bits"]]
    x, index = hard(dtype, 4 * 10 * 6).view(4, 10, 6), torch.randint(0, 10, (7,))
    index[3] = 12
    spread = torch.zeros(14, dtype=DTYPES[match["index"]])
    spread[::2] = index.to(spread.dtype)
    expected = x.index_select(1, index.clamp(max=9))
    out = blank(dtype, *expected.shape)
    if match["dense"]:
        layout, threads = packed("4I", 6, 10, 7, 2), (6, 7, 4)
        kernel(out, spread.to("mps"), x.to("mps"), layout, threads=threads)
    else:
        memory = x.permute(1, 2, 0).contiguous()
        turned = memory.permute(2, 0, 1)
        arrays = [*padded(turned.stride()), *padded(x.shape), *padded(out.stride()), *padded(out.shape)]
        layout = packed(f"ii{4 * DIMS}II", 3, 1, *arrays, 2)
        kernel(out, spread.to("mps"), memory.to("mps"), layout, threads=out.numel())
    yield Check("values", out, expected)
