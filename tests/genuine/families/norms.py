"""LayerNorm.metal, RMSNorm.metal, GroupNorm.metal and RenormKernel.metal, of whole numbers: their sums are exact."""

import torch
from harness import Check, checks, is_since
from inputs import DTYPES, whole
from launch import blank, ceil_div, round_up
from packing import HALF_STEP, packed

TYPE = r"float|half|bfloat"
EPS = 1e-5
# Of floats, a few roundings on the way: the mean, the variance, its root, and the product with it.
NEAR = 8 * 2.0**-24


def hard_rows(x: torch.Tensor) -> torch.Tensor:
    """With a NaN in the second row and an infinity in the third."""
    x[1, x.size(1) // 2], x[2, x.size(1) // 2] = float("nan"), float("inf")
    return x


def close(what: str, got: torch.Tensor, expected: torch.Tensor, roundings: int = 1) -> Check:
    """Within a rounding to the result's type, and what floats lose before; near zero, what larger terms lost."""
    dtype = got.dtype
    expected = expected.to(dtype)
    atol = NEAR * float(expected[expected.isfinite()].double().abs().max())
    # The double was rounded once itself, hence two for each.
    return Check(what, got, expected, rtol=NEAR + 2 * roundings * HALF_STEP[dtype], atol=atol)


@checks(rf"layer_norm_(?P<form>single_row|looped)_(?:(?P<index>i32|i64)_)?(?P<type>{TYPE})")
def layer_norm(kernel, match):
    layout = "Q" if match["index"] == "i64" else "I"
    dtype, rows = DTYPES[match["type"]], 3
    for axis in (7, 45, 1000, 4096) if match["form"] == "single_row" else (4101, 9000):
        for scaled, shifted in ((True, True), (False, False)):
            x, weight, bias = hard_rows(whole(dtype, rows, axis)), whole(dtype, axis), whole(dtype, axis)
            out, mean, rstd = blank(dtype, rows, axis), blank(dtype, rows), blank(dtype, rows)
            group = min(ceil_div(axis, 4), 1024)
            affine = [weight.to("mps"), bias.to("mps")]
            if not is_since("2.15"):
                affine = [packed("i", scaled), packed("i", shifted), *affine]
            elif not scaled:
                affine = []  # what is not bound is not there
            kernel(
                *(x.to("mps"), out, mean, rstd, packed(layout, axis), EPS, *affine),
                threads=rows * group,
                group_size=group,
            )
            wide = x.double()
            expected_mean = wide.mean(1)
            expected_rstd = (wide.var(1, correction=0) + EPS).rsqrt()
            normal = (wide - expected_mean[:, None]) * expected_rstd[:, None]
            expected = normal * (weight.double() if scaled else 1) + (bias.double() if shifted else 0)
            yield close(f"{axis} affine {scaled}", out, expected)
            yield close(f"mean of {axis}", mean, expected_mean)
            yield close(f"rstd of {axis}", rstd, expected_rstd)


@checks(rf"rms_norm_(?P<looped>looped_)?(?P<type>{TYPE})")
def rms_norm(kernel, match):
    dtype, rows = DTYPES[match["type"]], 3
    for axis in (4097, 9000) if match["looped"] else (1, 45, 1000, 4096):
        x, weight = hard_rows(whole(dtype, rows, axis)), whole(dtype, axis)
        out = blank(dtype, rows, axis)
        group = 1024 if match["looped"] else round_up(ceil_div(axis, 4), 32)
        kernel(
            *(x.to("mps"), weight.to("mps"), out, EPS, packed("I", axis), packed("I", 1)),
            threads=rows * group,
            group_size=group,
        )
        wide = x.double()
        normal = wide * (wide.square().mean(1, keepdim=True) + EPS).rsqrt()
        # Rounded before the product with the weight, and after it.
        yield close(f"{axis}", out, normal * weight.double(), roundings=2)


BATCH, CHANNELS, GROUPS = 2, 6, 3
INDEX = r"(?P<index>uint32_t|uint64_t)"


def group_params(index: str, inner: int) -> torch.Tensor:
    per_group = CHANNELS // GROUPS
    sizes = (inner, GROUPS, per_group, per_group * inner, CHANNELS, BATCH * inner)
    return packed({"uint32_t": "6If", "uint64_t": "6Qf"}[index], *sizes, EPS)


def affine(name: str) -> torch.Tensor | None:
    return None if name == "void" else whole(DTYPES[name], CHANNELS)


def bound(x: torch.Tensor | None) -> torch.Tensor:
    return torch.zeros(1, device="mps") if x is None else x.to("mps")


def per_channel(x: torch.Tensor | None, otherwise: float) -> torch.Tensor:
    """As many as channels, in the shape of [batch, group, channel of the group, inner]."""
    x = torch.full((CHANNELS,), otherwise) if x is None else x
    return x.double().view(1, GROUPS, CHANNELS // GROUPS, 1)


@checks(rf"group_norm_(?P<type>{TYPE})_(?P<stat>{TYPE})_(?P<gamma>{TYPE}|void)_(?P<beta>{TYPE}|void)_{INDEX}")
def group_norm(kernel, match):
    dtype, stat = DTYPES[match["type"]], DTYPES[match["stat"]]
    for inner in (5, 333):
        x = whole(dtype, BATCH, GROUPS, CHANNELS // GROUPS, inner)
        hard_rows(x.view(BATCH * GROUPS, -1))
        gamma, beta = affine(match["gamma"]), affine(match["beta"])
        out, mean, rstd = blank(dtype, *x.shape), blank(stat, BATCH, GROUPS), blank(stat, BATCH, GROUPS)
        group = min(1024, round_up(ceil_div(x[0, 0].numel(), 4), 32))
        kernel(
            *(out, mean, rstd, x.to("mps"), bound(gamma), bound(beta), group_params(match["index"], inner)),
            threads=BATCH * GROUPS * group,
            group_size=group,
        )
        wide = x.double().flatten(2)
        expected_mean, variance = wide.mean(2), wide.var(2, correction=0)
        expected_rstd = (variance + EPS).rsqrt()
        normal = (x.double() - expected_mean[..., None, None]) * expected_rstd[..., None, None]
        yield close(f"{inner}", out, normal * per_channel(gamma, 1.0) + per_channel(beta, 0.0))
        yield close(f"mean, {inner}", mean, expected_mean)
        yield close(f"rstd, {inner}", rstd, expected_rstd)


def backward_inputs(match, inner: int):
    dtype, stat = DTYPES[match["type"]], DTYPES[match["stat"]]
    grad, x = (whole(dtype, BATCH, GROUPS, CHANNELS // GROUPS, inner) for _ in range(2))
    mean = x.double().flatten(2).mean(2).to(stat)
    rstd = (x.double().flatten(2).var(2, correction=0) + EPS).rsqrt().to(stat)
    return grad, x, mean, rstd


@checks(rf"group_norm_backward_x_(?P<type>{TYPE})_(?P<stat>{TYPE})_(?P<gamma>{TYPE}|void)_{INDEX}")
def group_norm_backward_x(kernel, match):
    for inner in (5, 333):
        grad, x, mean, rstd = backward_inputs(match, inner)
        gamma = affine(match["gamma"])
        out = blank(x.dtype, *x.shape)
        group = min(1024, round_up(ceil_div(x[0, 0].numel(), 4), 32))
        tensors = [t.to("mps") for t in (grad, x, mean, rstd)]
        kernel(
            *(out, *tensors, bound(gamma), group_params(match["index"], inner)),
            threads=BATCH * GROUPS * group,
            group_size=group,
        )
        m, r = mean.double()[..., None, None], rstd.double()[..., None, None]
        normal, weighted = (x.double() - m) * r, grad.double() * per_channel(gamma, 1.0)
        # In the terms of the kernel, which multiplies out what means of rounded statistics leave.
        through = (weighted * normal).mean((2, 3), keepdim=True)
        expected = r * (weighted - weighted.mean((2, 3), keepdim=True) - normal * through)
        yield close(f"{inner}", out, expected)


@checks(rf"group_norm_backward_affine_(?P<type>{TYPE})_(?P<stat>{TYPE})_(?P<affine>{TYPE})_{INDEX}")
def group_norm_backward_affine(kernel, match):
    dtype = DTYPES[match["affine"]]
    for inner in (5, 333):
        grad, x, mean, rstd = backward_inputs(match, inner)
        dgamma, dbeta = blank(dtype, CHANNELS), blank(dtype, CHANNELS)
        group = min(1024, round_up(ceil_div(BATCH * inner, 4), 32))
        tensors = [t.to("mps") for t in (grad, x, mean, rstd)]
        kernel(
            *(dgamma, dbeta, *tensors, group_params(match["index"], inner)),
            threads=CHANNELS * group,
            group_size=group,
        )
        normal = (x.double() - mean.double()[..., None, None]) * rstd.double()[..., None, None]
        yield close(f"gamma, {inner}", dgamma, (grad.double() * normal).sum((0, 3)).flatten(), roundings=1)
        yield close(f"beta, {inner}", dbeta, grad.double().sum((0, 3)).flatten())


@checks(rf"renorm_(?P<type>{TYPE})")
def renorm(kernel, match):
    dtype, limit = DTYPES[match["type"]], 1.5
    norm = torch.rand(300).mul(4).to(dtype)
    norm[:3] = torch.tensor([0.0, float("inf"), limit]).to(dtype)
    factor = blank(dtype, 300)
    kernel(norm.to("mps"), factor, limit, threads=300)
    small = torch.tensor(1e-7).to(dtype)
    yield Check(
        "factors", factor, torch.where(norm > limit, torch.full((300,), limit).div((norm + small).float()).to(dtype), 1)
    )
