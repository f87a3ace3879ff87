"""Fused optimizers: one launch for many tensors, whose addresses are in an argument buffer."""

import torch
from harness import Check, checks
from inputs import DTYPES
from packing import by_groups, mps, packed, rounding

SLOTS = 32  # of an argument buffer, for each kind of tensor
CHUNK = 65536
SIZES = (1000, 1, CHUNK + 130)
GROUP = 512
LEARNING_RATE, BETA1, BETA2, EPSILON = torch.tensor([0.01, 0.9, 0.99, 1e-6]).tolist()  # as float32 has them


def addresses(*lists):
    """The argument buffer; what is not used holds an address all the same."""
    return [tensor for tensors in lists for tensor in (*tensors, *[tensors[0]] * (SLOTS - len(tensors)))]


def metadata():
    """Sizes, and of each threadgroup its tensor and chunk."""
    chunks = [(tensor, chunk) for tensor, size in enumerate(SIZES) for chunk in range(-(-size // CHUNK))]
    fields = [SIZES, *zip(*chunks, strict=True)]
    values = [value for field in fields for value in (*field, *[0] * (SLOTS - len(field)))]
    return packed(f"{3 * SLOTS}Q", *values), len(chunks)


def draw(dtype, positive=False):
    return [(torch.rand(size) + 0.1 if positive else torch.randn(size)).to(dtype) for size in SIZES]


# weight decay, whether to maximise, the gradients' scale, whether an infinity was found
CASES = [(0.0, False, None, None), (0.1, True, 2.0, 0.0), (0.1, False, 0.5, None), (0.1, False, 2.0, 1.0)]


def scaling(grad_scale, found_inf):
    """The last arguments; the host binds nothing where there is no scaler."""
    return [packed("f", value) for value in (grad_scale, found_inf) if value is not None]


class Arithmetic:
    """Sums and products in float32, rounded where the kernel stores into the tensors' type."""

    def __init__(self, dtype):
        self.dtype = dtype

    def stored(self, value):
        return value.float().to(self.dtype)

    def scaled(self, grad, scale):
        return grad if scale is None else self.stored(grad.float() / scale)


def adam(arithmetic, state, step, weight_decay, maximise, scale, decoupled):
    stored = arithmetic.stored
    param, grad, first, second, *largest = state
    kept = grad = arithmetic.scaled(grad, scale)
    if maximise:
        grad = -grad
    if weight_decay and decoupled:
        param = stored(param.float() - stored(LEARNING_RATE * weight_decay * param.float()).float())
    elif weight_decay:
        grad = stored(grad.float() + stored(param.float() * weight_decay).float())
    first = stored(BETA1 * first.float() + (1 - BETA1) * grad.float())
    second = stored(BETA2 * second.float() + (1 - BETA2) * grad.float() * grad.float())
    root = second
    if largest:
        root = torch.maximum(largest[0], second)
        largest = [root]
    denominator = root.float().sqrt() / (1 - BETA2**step) ** 0.5 + EPSILON
    change = stored(LEARNING_RATE / (1 - BETA1**step) * first.float() / denominator)
    return [stored(param.float() - change.float()), kept, first, second, *largest]


def compare(what, names, got, expected, dtype):
    """A last place more or less where float32 rounds the other way before the type does; fusing spares roundings."""
    step = rounding(dtype)
    for name, tensors, wanted in zip(names, got, expected, strict=True):
        for i, (tensor, want) in enumerate(zip(tensors, wanted, strict=True)):
            yield Check(f"{what}: {name} {i}", tensor, want, rtol=8 * step, atol=8 * step)


@checks(r"fused_adam(?P<decoupled>w?)(?P<amsgrad>_amsgrad)?_(?P<type>float|half|bfloat)_(?P<steps>float|half|bfloat)")
def fused_adam(kernel, match):
    dtype = DTYPES[match["type"]]
    names = ["param", "grad", "first moment", "second moment"] + (["largest"] if match["amsgrad"] else [])
    for weight_decay, maximise, scale, found_inf in CASES:
        lists = [draw(dtype), draw(dtype), draw(dtype), *(draw(dtype, positive=True) for _ in names[3:])]
        steps = [torch.tensor(float(3 + i)).to(DTYPES[match["steps"]]) for i in range(len(SIZES))]
        got = [[mps(t) for t in tensors] for tensors in lists]
        table, groups = metadata()
        numbers = [packed("f", value) for value in (LEARNING_RATE, BETA1, BETA2, weight_decay, EPSILON)]
        arguments = [addresses(*got, [mps(t) for t in steps]), table, *numbers, packed("?", maximise)]
        by_groups(kernel, *arguments, *scaling(scale, found_inf), grid=(groups,), group=(GROUP,))
        expected = lists
        if not found_inf:
            states = zip(*lists, strict=True)
            decoupled = bool(match["decoupled"])
            updated = [
                adam(Arithmetic(dtype), state, float(step), weight_decay, maximise, scale, decoupled)
                for state, step in zip(states, steps, strict=True)
            ]
            expected = list(zip(*updated, strict=True))
        what = f"decay {weight_decay}, maximise {maximise}, scale {scale}, infinity {found_inf}"
        yield from compare(what, names, got, expected, dtype)


def sgd(arithmetic, state, weight_decay, maximise, scale, momentum=0.0, dampening=0.0, nesterov=False, first=False):
    stored = arithmetic.stored
    param, grad, *buffer = state
    kept = grad = arithmetic.scaled(grad, scale)
    if maximise:
        grad = -grad
    if weight_decay:
        grad = stored(grad.float() + stored(weight_decay * param.float()).float())
    if buffer:
        moved = stored(momentum * buffer[0].float() + (1 - dampening) * grad.float())
        buffer = [grad if first else moved]
        grad = stored(grad.float() + stored(momentum * buffer[0].float()).float()) if nesterov else buffer[0]
    return [stored(param.float() - stored(LEARNING_RATE * grad.float()).float()), kept, *buffer]


@checks(r"fused_sgd_(?P<momentum>momentum_)?(?P<type>float|half|bfloat)")
def fused_sgd(kernel, match):
    dtype = DTYPES[match["type"]]
    names = ["param", "grad"] + (["momentum"] if match["momentum"] else [])
    for weight_decay, maximise, scale, found_inf in CASES:
        for nesterov, first in (
            [(False, True), (True, False), (False, False)] if match["momentum"] else [(False, False)]
        ):
            lists = [draw(dtype) for _ in names]
            got = [[mps(t) for t in tensors] for tensors in lists]
            table, groups = metadata()
            momentum, dampening = (0.8, 0.0 if nesterov else 0.25) if match["momentum"] else (0.0, 0.0)
            if match["momentum"]:
                numbers = [packed("f", value) for value in (weight_decay, momentum, LEARNING_RATE, dampening)]
                numbers += [packed("?", value) for value in (nesterov, maximise, first)]
            else:
                numbers = [packed("f", weight_decay), packed("f", LEARNING_RATE), packed("?", maximise)]
            arguments = [addresses(*got), table, *numbers, *scaling(scale, found_inf)]
            by_groups(kernel, *arguments, grid=(groups,), group=(GROUP,))
            expected = lists
            if not found_inf:
                options = (weight_decay, maximise, scale, momentum, dampening, nesterov, first)
                updated = [sgd(Arithmetic(dtype), state, *options) for state in zip(*lists, strict=True)]
                expected = list(zip(*updated, strict=True))
            what = f"decay {weight_decay}, maximise {maximise}, scale {scale}, infinity {found_inf}"
            yield from compare(f"{what}, Nesterov {nesterov}, first {first}", names, got, expected, dtype)
