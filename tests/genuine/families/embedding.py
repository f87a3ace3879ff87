"""Embedding.metal and EmbeddingBag.metal. Numbers are small and whole: exact in any order of the atomic additions."""

import torch
from harness import Check, checks, is_since
from inputs import DTYPES, whole
from launch import blank
from packing import DIMS, error_buffer, error_count, packed, padded

TYPE = r"(?P<type>float|half|bfloat)"
INDEX = r"(?P<index>int|long)"
SUM, MEAN, MAX = range(3)
WEIGHTS, FEATURES, PADDING = 10, 6, 3


def dense_params(index: torch.Tensor, grad: torch.Tensor, scaled: bool) -> torch.Tensor:
    arrays = [*padded(index.shape), *padded(grad.stride()[:-1]), *padded(index.stride())]
    return packed(f"{3 * DIMS}I3I4xq?", *arrays, grad.stride(-1), index.dim(), FEATURES, PADDING, scaled)


def turned_index(index_type: torch.dtype) -> torch.Tensor:
    return torch.randint(0, WEIGHTS, (7, 5)).to(index_type).t()


@checks(rf"embedding_dense_backward_count_{INDEX}_(?P<bits>32|64)")
def dense_count(kernel, match):
    index = turned_index(DTYPES[match["index"]])
    counts = torch.zeros(WEIGHTS, dtype=torch.int32, device="mps")
    grad = torch.empty(5, 7, FEATURES, device="meta")
    kernel(index.t().to("mps"), counts, dense_params(index, grad, True), threads=index.numel())
    expected = index.flatten().bincount(minlength=WEIGHTS).int()
    expected[PADDING] = 0
    yield Check("counts", counts, expected)


@checks(rf"embedding_dense_backward_{TYPE}_{INDEX}_(?P<bits>32|64)")
def dense_backward(kernel, match):
    index = turned_index(DTYPES[match["index"]])
    storage = whole(DTYPES[match["type"]], FEATURES, 5, 7, low=-4, high=4)
    grad = storage.permute(1, 2, 0)
    for scaled in (False, True):
        # Powers of two, to divide by exactly.
        counts = 2 ** torch.randint(0, 3, (WEIGHTS,), dtype=torch.int32)
        out = torch.zeros(WEIGHTS, FEATURES, device="mps")
        kernel(
            *(storage.to("mps"), index.t().to("mps"), counts.to("mps"), out, dense_params(index, grad, scaled)),
            threads=index.numel() * FEATURES,
        )
        expected = torch.zeros(WEIGHTS, FEATURES)
        expected.index_add_(0, index.flatten(), grad.float().reshape(-1, FEATURES))
        expected[PADDING] = 0
        yield Check(f"scaled {scaled}", out, expected / counts[:, None] if scaled else expected)


class Bags:
    """Bags of a power of two of indices, of which one is empty and one holds nothing but padding."""

    def __init__(self, match):
        self.dtype, self.index_type = DTYPES[match["type"]], DTYPES[match["index"]]
        sizes = [4, 0, 2, 1, 8, 2, 16]
        self.count = len(sizes)
        self.bag = torch.repeat_interleave(torch.arange(self.count), torch.tensor(sizes))
        self.offsets = torch.tensor([0, *sizes]).cumsum(0)[:-1]
        others = torch.tensor([i for i in range(WEIGHTS) if i != PADDING])
        self.index = others[torch.randint(0, len(others), (len(self.bag),))]
        self.index[6] = PADDING  # the bag of one
        self.used = self.index != PADDING
        self.sizes = self.bag[self.used].bincount(minlength=self.count)
        self.weights = whole(self.dtype, FEATURES, WEIGHTS, low=-4, high=4)
        self.weight = self.weights.t()  # as read
        self.sample = torch.randint(1, 3, (len(self.bag),)).to(self.dtype)

    def indices(self, x: torch.Tensor) -> torch.Tensor:
        return x.to(self.index_type).to("mps")

    def largest(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Of each bag and feature: the largest weight and the index that is first to have it."""
        values, places = torch.zeros(self.count, FEATURES).double(), torch.zeros(self.count, FEATURES).long()
        for bag in range(self.count):
            index = self.index[self.used & (self.bag == bag)]
            if len(index):
                found = self.weight.double()[index].max(0)
                first = (self.weight.double()[index] == found.values).int().argmax(0)
                values[bag], places[bag] = found.values, index[first]
        return values, places


MODES = ((SUM, False), (SUM, True), (MEAN, False), (MAX, False))


@checks(rf"embedding_bag_{TYPE}_{INDEX}")
def bag(kernel, match):
    for mode, sampled in MODES:
        bags = Bags(match)
        out, errors = blank(bags.dtype, bags.count, FEATURES), error_buffer()
        places = blank(bags.index_type, len(bags.bag))
        sizes, largest = blank(bags.index_type, bags.count), blank(bags.index_type, bags.count, FEATURES)
        given = bags.index.clone()
        given[-1] = WEIGHTS + 1  # reported by each thread of the last bag, which then writes nothing
        strides, counts = (1, WEIGHTS, FEATURES, 1, FEATURES, 1), (len(given), bags.count, FEATURES, WEIGHTS)
        if is_since("2.15"):
            layout = packed("11Iiq?", *strides, 1, *counts, mode, PADDING, sampled)
        else:
            layout = packed("6I?3x5Ii4xq", *strides, sampled, 1, *counts, mode, PADDING)
        kernel(
            *(bags.weights.to("mps"), bags.indices(given), bags.indices(bags.offsets), bags.sample.to("mps")),
            *(out, places, sizes, largest, layout, errors),
            threads=bags.count * FEATURES,
        )
        rows = bags.weight.double()[bags.index] * bags.used[:, None]
        if sampled:
            rows = rows * bags.sample.double()[:, None]
        expected = torch.zeros(bags.count, FEATURES).double().index_add(0, bags.bag, rows)
        if mode == MEAN:
            expected = (expected.float() / bags.sizes.clamp(min=1)[:, None]).double()
        if mode == MAX:
            expected, first = bags.largest()
            yield Check("first of the largest", largest.cpu()[:-1], first[:-1].to(bags.index_type))
        yield Check(f"mode {mode} sampled {sampled}", out.cpu()[:-1], expected[:-1].to(bags.dtype))
        yield Check("bags", places.cpu()[:-1], bags.bag[:-1].to(bags.index_type))
        yield Check("sizes", sizes.cpu()[:-1], bags.sizes[:-1].to(bags.index_type))
        yield Check("unwritten", out.cpu()[-1], torch.full((FEATURES,), 99).to(bags.dtype))
        yield Check("errors", error_count(errors), torch.tensor(FEATURES))


@checks(rf"embedding_bag_backward_{TYPE}_{INDEX}")
def bag_backward(kernel, match):
    for mode, sampled in MODES:
        bags = Bags(match)
        grad = whole(bags.dtype, bags.count, FEATURES, low=-4, high=4)
        _, first = bags.largest()
        out = torch.zeros(WEIGHTS, FEATURES, dtype=bags.dtype, device="mps")
        strides = (FEATURES, 1, FEATURES, 1, FEATURES, 1)
        if is_since("2.15"):
            layout = packed("6IIIiq?", *strides, 1, FEATURES, mode, PADDING, sampled)
        else:
            layout = packed("6I?3xIIiq", *strides, sampled, 1, FEATURES, mode, PADDING)
        kernel(
            *(grad.to("mps"), bags.indices(bags.index), bags.indices(bags.bag), bags.indices(bags.sizes)),
            *(bags.indices(first), bags.sample.to("mps"), out, layout),
            threads=(bags.count if mode == MAX else len(bags.bag)) * FEATURES,
        )
        expected = torch.zeros(WEIGHTS, FEATURES).double()
        if mode == MAX:
            expected.scatter_add_(0, first, grad.double() * (bags.sizes > 0)[:, None])
        else:
            rows = grad.double()[bags.bag] * bags.used[:, None]
            rows = rows * bags.sample.double()[:, None] if sampled else rows
            rows = rows / bags.sizes[bags.bag].clamp(min=1)[:, None] if mode == MEAN else rows
            expected.index_add_(0, bags.index, rows)
        yield Check(f"mode {mode} sampled {sampled}", out, expected.to(bags.dtype))


@checks(rf"embedding_bag_per_sample_weights_backward_{TYPE}_{INDEX}")
def sample_backward(kernel, match):
    bags = Bags(match)
    grad = whole(bags.dtype, bags.count, FEATURES, low=-4, high=4)
    out = torch.zeros(len(bags.bag), dtype=bags.dtype, device="mps")
    kernel(
        *(grad.to("mps"), bags.weights.to("mps"), bags.indices(bags.index), bags.indices(bags.bag), out),
        packed("4I2Iq", FEATURES, 1, 1, WEIGHTS, 1, FEATURES, PADDING),
        threads=len(bags.bag) * FEATURES,
    )
    expected = (bags.weight.double()[bags.index] * grad.double()[bags.bag]).sum(1)
    expected[~bags.used] = 0
    yield Check("gradients", out, expected.to(bags.dtype))
