"""Sort.metal: block sorts, merges and radix passes. Every step is checked alone, for what it must hand to the next one.

All of them are stable: they break ties by the index. Merges compare values (zeros of both signs and flushed denormals
are equal), radix steps and the "fkey" merges compare the bits, where -0 comes before 0.
"""

import torch
from harness import Check, checks
from inputs import DTYPES, hard, ordinary
from launch import blank, flushed
from packing import packed

PER_THREAD = 4
ROWS = 2
TYPE = r"(?P<type>float|half|bfloat|int|long|short|char|uchar|bool|ushort|uint|ulong)"
MERGE = TYPE + r"_tptg(?P<group>\d+)"
U16 = r"(?P<narrow>_u16)?"
WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
LOWEST = torch.iinfo(torch.int64).min


def index_type(match) -> torch.dtype:
    return torch.int16 if match["narrow"] else torch.int32


def rows_to_sort(dtype: torch.dtype, size: int) -> torch.Tensor:
    """Rows with all that is hard to order, and many equals."""
    x = torch.stack([hard(dtype, size), ordinary(dtype, size)])
    if dtype.is_floating_point:
        x[:, size // 2 :] = x[:, size // 2 :].round()
    return x[:, torch.randperm(size)]


def by_value(x: torch.Tensor) -> torch.Tensor:
    """What the comparing kernels order by, as something torch.sort can order."""
    if x.dtype.is_floating_point:
        return flushed(x).double()
    if x.dtype == torch.uint64:
        return x.view(torch.int64) ^ LOWEST
    return x.long()


def radix_key(x: torch.Tensor, descending: bool) -> torch.Tensor:
    bits = 8 * x.element_size()
    every, sign = (1 << bits) - 1, 1 << (bits - 1)
    word = x.view(WORDS[x.element_size()]).long() & every
    if x.dtype.is_floating_point:
        key = torch.where(word >= sign, word ^ every, word ^ sign)
        key = torch.where(x.isnan(), every, key)
    elif x.dtype in (torch.uint8, torch.uint16, torch.uint32, torch.bool):
        key = word
    else:
        key = word ^ sign
    return key ^ every if descending else key


def in_runs(order_by: torch.Tensor, run: int, descending: bool) -> torch.Tensor:
    """The indices that sort every run of `run` elements of each row on its own."""
    parts = [
        part.sort(dim=-1, stable=True, descending=descending).indices + run * i
        for i, part in enumerate(order_by.split(run, dim=-1))
    ]
    return torch.cat(parts, dim=-1)


def take(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    word = WORDS[x.element_size()]
    return x.view(word).gather(-1, index).view(x.dtype)


def as_words(x: torch.Tensor) -> torch.Tensor:
    """Unsigned types as signed ones, which torch can compare."""
    return x.view(WORDS[x.element_size()]) if x.dtype in (torch.uint16, torch.uint32, torch.uint64) else x


def pairs(what: str, values, indices, expected_values, expected_indices):
    yield Check(f"{what}: values", as_words(values.cpu()), as_words(expected_values))
    yield Check(f"{what}: indices", indices, expected_indices.to(indices.dtype))


@checks(rf"sort_block_(?P<top>topk_|(?P<key>fkey_))?{MERGE}(?P<stable>_stable)?")
def sort_block(kernel, match):
    dtype, group = DTYPES[match["type"]], int(match["group"])
    whole = group * PER_THREAD
    for size, step, descending in ((whole - 5, 1, False), (whole, 1, True), (2, 3, False), (whole // 3, 2, True)):
        x = rows_to_sort(dtype, size)
        spread = blank(dtype, ROWS, size * step).cpu()
        as_words(spread)[:, ::step] = as_words(x)
        offset, count = (1, size - 1) if match["top"] else (0, size)
        values, indices = blank(dtype, ROWS, count), blank(torch.int64, ROWS, count)
        window = [packed("ii", offset, count)] if match["top"] else []
        strides, flag = packed("qq", step, size * step), packed("?", descending)
        kernel(
            *(spread.to("mps"), values, indices, packed("i", size), strides, flag, *window),
            threads=(group, ROWS, 1),
            group_size=(group, 1, 1),
        )
        order_by = radix_key(x, descending) if match["key"] else by_value(x)
        index = in_runs(order_by, size, descending and not match["key"])[:, offset : offset + count]
        yield from pairs(f"{size} down {descending}", values, indices, take(x, index), index)


@checks(rf"mb_sort_block_(?P<key>fkey_)?{MERGE}{U16}(?P<stable>_stable)?")
def sort_blocks(kernel, match):
    dtype, group = DTYPES[match["type"]], int(match["group"])
    block = group * PER_THREAD
    size = block + 37
    for descending in (False, True):
        x = rows_to_sort(dtype, size)
        word = WORDS[x.element_size()]
        values = blank(word if match["key"] else dtype, ROWS, size)
        indices = blank(index_type(match), ROWS, size)
        kernel(
            *(x.to("mps"), values, indices, packed("i", size), packed("qq", 1, size), packed("?", descending)),
            threads=(2 * group, ROWS, 1),
            group_size=(group, 1, 1),
        )
        if match["key"]:
            key = radix_key(x, descending)
            index = in_runs(key, block, False)
            expected = key.gather(-1, index).to(word)
        else:
            index = in_runs(by_value(x), block, descending)
            expected = take(x, index)
        yield from pairs(f"down {descending}", values, indices, expected, index)


def outputs(match, size: int, block: int):
    """What the step writes of a row: all, or in a "topk" form a window. The tensors, and the argument that says so."""
    offset, count = (3, block) if match["top"] else (0, size)
    values = blank(DTYPES[match["type"]], ROWS, count)
    indices = blank(torch.int64 if match["final"] else index_type(match), ROWS, count)
    window = [packed("ii", offset, count)] if match["top"] else []
    return slice(offset, offset + count), values, indices, window


@checks(rf"mb_merge_(?P<final>final_)?(?P<top>topk_)?(?P<key>fkey_)?{MERGE}{U16}")
def merge(kernel, match):
    dtype, group = DTYPES[match["type"]], int(match["group"])
    block = group * PER_THREAD
    # The last round merges all there is; an earlier one leaves the third block as it is.
    size = block + 37 if match["final"] else 2 * block + 37
    blocks = 2 if match["final"] else 3
    for descending in (False, True):
        x = rows_to_sort(dtype, size)
        order_by = radix_key(x, descending) if match["key"] else by_value(x)
        down = descending and not match["key"]
        before, after = in_runs(order_by, block, down), in_runs(order_by, 2 * block, down)
        given = order_by.gather(-1, before).to(WORDS[x.element_size()]) if match["key"] else take(x, before)
        part, values, indices, window = outputs(match, size, block)
        kernel(
            *(given.to("mps"), before.to(index_type(match)).to("mps"), values, indices),
            *(packed("iii", size, 2, blocks), packed("?", descending), *window),
            threads=(blocks * group, ROWS, 1),
            group_size=(group, 1, 1),
        )
        after = after[:, part]
        yield from pairs(f"down {descending}", values, indices, take(x, after), after)


def radix_geometry(match) -> tuple[int, int, int]:
    """Threads of a group, elements of a block, and bits of a digit."""
    size = DTYPES[match["type"]].itemsize
    group = 1024 if size == 2 and not match["small"] else 512
    return group, group * (8 if size == 1 else 4), int(match["bits"])


def histogram(digits: torch.Tensor, block: int, bits: int) -> torch.Tensor:
    """Of each row, how often each digit occurs in each block."""
    rows = [
        torch.stack([part.bincount(minlength=1 << bits) for part in row.split(block)], dim=-1).flatten()
        for row in digits
    ]
    return torch.stack(rows)


def before_each(counts: torch.Tensor) -> torch.Tensor:
    return counts.cumsum(-1) - counts


RADIX = TYPE + r"_(?P<bits>\d)bit(?P<small>_tptg512)?"


@checks(rf"radix_count_(?P<scan>scan_)?{RADIX}(_mb4)?")
def radix_count(kernel, match):
    dtype, (group, block, bits) = DTYPES[match["type"]], radix_geometry(match)
    size, blocks = block + 37, 2
    for descending in (False, True):
        for shift in range(0, 8 * dtype.itemsize, bits):
            x = rows_to_sort(dtype, size)
            counts = blank(torch.int32, ROWS, blocks << bits)
            kernel(
                *(x.to("mps"), counts, packed("iii", size, blocks, shift), packed("?", descending)),
                threads=(group if match["scan"] else blocks * group, ROWS, 1),
                group_size=(group, 1, 1),
            )
            expected = histogram(radix_key(x, descending) >> shift & (1 << bits) - 1, block, bits)
            expected = before_each(expected) if match["scan"] else expected
            yield Check(f"digit at {shift}, down {descending}", counts, expected.int())


@checks("radix_scan")
def radix_scan(kernel, match):
    for entries in (1, 512, 256 * 13):
        counts = torch.randint(0, 1000, (ROWS, entries), dtype=torch.int32)
        got = counts.to("mps")
        kernel(got, packed("i", entries), threads=(1024, ROWS, 1), group_size=(1024, 1, 1))
        yield Check(f"{entries} entries", got, before_each(counts).int())


@checks(rf"radix_scatter_(?P<fused>fused_)?(?P<final>final_)?(?P<top>topk_)?{RADIX}{U16}")
def radix_scatter(kernel, match):
    dtype, (group, block, bits) = DTYPES[match["type"]], radix_geometry(match)
    size, blocks = block + 37, 2
    for descending, first in ((False, True), (True, False)):
        for shift in (0, 8 * dtype.itemsize - bits):
            x = rows_to_sort(dtype, size)
            before = torch.stack([torch.randperm(size) for _ in range(ROWS)])
            digits = radix_key(x, descending) >> shift & (1 << bits) - 1
            counts = histogram(digits, block, bits)
            offsets = (counts if match["fused"] else before_each(counts)).int()
            part, values, indices, window = outputs(match, size, block)
            kernel(
                *(x.to("mps"), before.to(index_type(match)).to("mps"), values, indices, offsets.to("mps")),
                *(packed("iii", size, blocks, shift), packed("??", descending, first), *window),
                threads=(blocks * group, ROWS, 1),
                group_size=(group, 1, 1),
            )
            moved = in_runs(digits, size, False)[:, part]
            index = moved if first else before.gather(-1, moved)
            yield from pairs(f"digit at {shift}, down {descending}", values, indices, take(x, moved), index)


@checks(r"median_gather_(?P<type>float|half|bfloat)", since="2.14")
def median_of_sorted(kernel, match):
    """Of sorted rows, in which NaNs come last."""
    dtype = DTYPES[match["type"]]
    for size in (1, 45, 300):
        x = torch.stack([ordinary(dtype, size) for _ in range(5)])
        x[1, size // 2 :], x[2] = float("nan"), float("nan")
        x, order = x.sort(1)
        for ignored in (False, True):
            values, places = blank(dtype, 5), blank(torch.int64, 5)
            kernel(*(x.to("mps"), order.to("mps"), values, places, packed("I", size), packed("?", ignored)), threads=5)
            numbers = (~x.isnan()).sum(1)
            first = torch.where(numbers < size, numbers, torch.tensor((size - 1) // 2))
            place = (numbers - 1).clamp(min=0) // 2 if ignored else first
            yield Check(f"values of {size}, {ignored}", values, x.gather(1, place[:, None])[:, 0])
            yield Check(f"places of {size}, {ignored}", places, order.gather(1, place[:, None])[:, 0])


MEDIAN = r"(?P<type>float|half|bfloat|int|long|short|char|uchar)"


def median_state(prefix: int, rank: int, nans: int = 0, done: int = 0) -> torch.Tensor:
    """What is known of the key, and which of the candidates it is."""
    return packed("QIII", prefix, rank, nans, done)


def unsigned_key(x: torch.Tensor) -> list[int]:
    every = (1 << 8 * x.element_size()) - 1
    return [key & every for key in radix_key(x, False).tolist()]


@checks(rf"median_select_hist_{MEDIAN}", since="2.14")
def median_histogram(kernel, match):
    """How often each digit occurs among the keys that begin as the state says, and in the first pass how many NaNs."""
    dtype, count = DTYPES[match["type"]], 2000
    x = hard(dtype, count)
    keys, top = unsigned_key(x), 8 * dtype.itemsize - 8
    for shift in sorted({top, max(0, top - 8)}, reverse=True):
        first = shift == top
        prefix = 0 if first else keys[-1] >> shift + 8
        out = torch.zeros(257, dtype=torch.int32, device="mps")
        kernel(
            *(x.to("mps"), median_state(prefix, 0), out, packed("I", count), packed("I", shift), packed("?", first)),
            threads=512,
            group_size=256,
        )
        digits = [key >> shift & 255 for key in keys if first or key >> shift + 8 == prefix]
        expected = torch.bincount(torch.tensor(digits), minlength=257).int()
        expected[256] = int((x != x).sum()) if first else 0
        yield Check(f"digits at {shift}", out, expected)


@checks(rf"median_select_pick_{MEDIAN}", since="2.14")
def median_pick(kernel, match):
    """The digit that the rank falls into; the last one makes the key whole."""
    dtype = DTYPES[match["type"]]
    x = ordinary(dtype, 1)
    key = unsigned_key(x)[0]
    counts = torch.randint(0, 9, (257,), dtype=torch.int32)
    counts[256], counts[key & 255] = 0, 5
    rank = int(counts[: key & 255].sum()) + 3
    bits = 8 * dtype.itemsize
    if bits > 8:
        state = median_state(key >> 8, rank)
        out, hist = blank(dtype, 1), counts.to("mps")
        kernel(out, state, hist, packed("I", 9), packed("?", False), packed("?", True), packed("?", False), threads=1)
        yield Check("value", out, x)
        yield Check("state", state.cpu()[:24], median_state(key, 3, 0, 1).cpu()[:24])
    for nans, ignored in ((0, False), (3, True), (3, False)) if dtype.is_floating_point else ((0, False),):
        counts = torch.randint(1, 9, (257,), dtype=torch.int32)
        counts[256] = nans
        numbers = int(counts[:256].sum())
        total, middle = numbers + nans, (numbers - 1) // 2
        state, out, hist = median_state(0, 0), blank(dtype, 1), counts.to("mps")
        last = packed("?", bits == 8)
        kernel(out, state, hist, packed("I", total), packed("?", True), last, packed("?", ignored), threads=1)
        if nans and not ignored:
            yield Check("value, with NaN", out, torch.tensor([float("nan")]).to(dtype))
            continue
        digit = int((counts[:256].cumsum(0) <= middle).sum())
        left = middle - int(counts[:digit].sum())
        yield Check("state", state.cpu()[:20], median_state(digit, left, nans, int(bits == 8)).cpu()[:20])
        yield Check("histogram", hist, torch.zeros(257, dtype=torch.int32))
