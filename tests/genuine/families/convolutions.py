"""Convolutions (Convolution.metal, from 2.14 on): direct ones of a plane, of a volume by 8x8 matrices, and layouts."""

import dataclasses

import torch
from harness import Check, checks
from inputs import DTYPES
from launch import blank, ceil_div
from packing import by_groups, mps, packed, rounding

TYPE = r"(?P<type>float|half|bfloat)"


@dataclasses.dataclass(frozen=True)
class Case:
    """Sizes of depth (where there is one), height and width."""

    inputs: int
    outputs: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    bias: bool

    def tensors(self, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        x = torch.randn(2, self.inputs, *self.size).to(dtype)
        weight = torch.randn(self.outputs, self.inputs // self.groups, *self.kernel).to(dtype)
        return x, weight, torch.randn(self.outputs).to(dtype)

    def result(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        functions = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}
        wide = bias.double() if self.bias else None
        how = (self.stride, self.padding, self.dilation, self.groups)
        return functions[len(self.size)](x.double(), weight.double(), wide, *how)

    def params(self, out: torch.Tensor) -> list[int]:
        """Conv2DParams, of height and width; the flag comes last."""
        pairs = (self.size, out.shape[2:], self.kernel, self.stride, self.padding, self.dilation)
        planes = [number for values in pairs for number in values[-2:]]
        return [2, self.inputs, self.outputs, *planes, self.inputs // self.groups, self.outputs // self.groups]

    def check(self, got: torch.Tensor, tensors, what: str) -> Check:
        x, weight, bias = tensors
        expected = self.result(x, weight, bias)
        bound = self.result(x.abs(), weight.abs(), bias.abs()).abs().max().item()
        terms = weight[0].numel() + 2
        dtype = got.dtype
        return Check(what, got, expected.to(dtype), rtol=2 * rounding(dtype), atol=terms * 2.0**-24 * bound)


LINES = (
    Case(6, 6, (1, 45), (1, 5), (1, 1), (0, 2), (1, 1), 6, True),
    Case(4, 8, (1, 61), (1, 3), (1, 2), (0, 0), (1, 3), 4, False),
)


@checks(rf"conv1d_depthwise_(?P<order>ncl|nlc)_{TYPE}", since="2.15")
def conv1d_depthwise(kernel, match):
    """A group for each channel; a thread has eight places of one. The result has channels last where it says so."""
    for case in LINES:
        tensors = x, weight, bias = case.tensors(DTYPES[match["type"]])
        shape = case.result(x, weight, bias).shape
        last = match["order"] == "nlc"
        out = blank(x.dtype, shape[0], shape[3], shape[1]) if last else blank(x.dtype, shape[0], shape[1], shape[3])
        layout = packed("17i?", *case.params(torch.empty(shape, device="meta")), case.bias)
        threads = (ceil_div(shape[3], 8), case.outputs, shape[0])
        kernel(mps(x), mps(weight), out, layout, mps(bias), threads=threads)
        got = out.cpu().mT if last else out.cpu()
        yield case.check(got[:, :, None], tensors, f"{case.kernel}")


PLANES = (
    Case(4, 6, (9, 14), (3, 2), (2, 1), (1, 1), (1, 2), 2, True),
    Case(3, 5, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1), 1, False),
)


@checks(rf"conv2d_r(?P<blocked>[14])_(?:i32|i64)_{TYPE}", since="2.14")
def conv2d(kernel, match):
    for case in PLANES:
        tensors = x, weight, bias = case.tensors(DTYPES[match["type"]])
        shape = case.result(x, weight, bias).shape
        out = blank(x.dtype, *shape)
        blocks = ceil_div(shape[3], int(match["blocked"]))
        layout = packed("17i?", *case.params(out), case.bias)
        kernel(mps(x), mps(weight), mps(bias), out, layout, threads=shape[:3].numel() * blocks)
        yield case.check(out, tensors, f"{case.kernel}")


VOLUMES = (
    Case(4, 70, (3, 6, 9), (2, 3, 3), (1, 2, 1), (1, 1, 0), (1, 1, 2), 1, True),
    Case(6, 8, (4, 5, 5), (1, 2, 2), (2, 1, 1), (0, 0, 1), (1, 1, 1), 2, False),
)


@checks(
    rf"conv3d_simd_(?:long_)?{TYPE}_(?P<rows>\d+)_(?P<columns>\d+)_(?P<row_groups>\d)_(?P<column_groups>\d)",
    since="2.14",
)
def conv3d(kernel, match):
    """Channels come last, in the input and in the weights; in the output where it is asked for."""
    rows, columns = int(match["rows"]), int(match["columns"])
    threads = int(match["row_groups"]) * int(match["column_groups"]) * 32
    for case in VOLUMES:
        for channels_first in (True, False):
            tensors = x, weight, bias = case.tensors(DTYPES[match["type"]])
            shape = case.result(x, weight, bias).shape
            memory = x.permute(0, 2, 3, 4, 1).contiguous()
            weights = weight.permute(2, 3, 4, 1, 0).contiguous()
            out = blank(x.dtype, *shape) if channels_first else blank(x.dtype, shape[0], *shape[2:], shape[1])
            depth = [case.size[0], shape[2], case.kernel[0], case.stride[0], case.padding[0], case.dilation[0]]
            plane = case.params(torch.empty(shape, device="meta"))
            layout = packed("17i?3x6i?", *plane, case.bias, *depth, channels_first)
            tiles = ceil_div(case.outputs // case.groups, columns) * case.groups
            grid = (tiles, ceil_div(shape[3] * shape[4], rows), shape[0] * shape[2])
            by_groups(kernel, mps(memory), mps(weights), out, layout, mps(bias), grid=grid, group=(threads, 1, 1))
            got = out.cpu() if channels_first else out.cpu().permute(0, 4, 1, 2, 3)
            yield case.check(got, tensors, f"{case.kernel}, channels first {channels_first}")


@checks(
    rf"nchw_to_nhwc_{TYPE}_(?P<channels>\d+)_(?P<spaces>\d+)_(?P<read>true|false)_(?P<written>true|false)", since="2.14"
)
def channels_last(kernel, match):
    """By twos where the number of places or of channels is even."""
    tile = (int(match["spaces"]), int(match["channels"]))
    channels = 38 if match["written"] == "true" else 37
    spaces = 130 if match["read"] == "true" else 133
    x = torch.randn(2, channels, spaces).to(DTYPES[match["type"]])
    out = blank(x.dtype, 2, spaces, channels)
    grid = (ceil_div(spaces, tile[0]), ceil_div(channels, tile[1]), 2)
    by_groups(kernel, mps(x), out, packed("2i", channels, spaces), grid=grid, group=(256, 1, 1))
    yield Check("values", out, x.mT.contiguous())


@checks(rf"conv_weight_to_dhwio_{TYPE}", since="2.15")
def weights_last(kernel, match):
    outputs, inputs, size = 5, 4, (2, 3, 2)
    memory = torch.randn(inputs, outputs, *size).to(DTYPES[match["type"]])
    weight = memory.transpose(0, 1)
    out = blank(weight.dtype, *size, inputs, outputs)
    layout = packed("9I", outputs, inputs, size[1], size[2], *weight.stride())
    kernel(mps(memory), out, layout, threads=(outputs, inputs, size[0] * size[1]))
    yield Check("values", out, weight.permute(2, 3, 4, 1, 0).contiguous())
