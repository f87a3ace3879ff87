"""Mixed precision with gradient accumulation: parts of a batch give the gradient, and the step, of the whole."""

import copy

import pytest
import torch
from torch import nn

BATCH, PARTS = 32, 4
# Half of the distance between neighbours, for numbers from 1 to 2.
HALF_ROUNDING = 2.0**-11


@pytest.fixture
def setting():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 5)).to("mps")
    return model, torch.randn(BATCH, 24, device="mps"), torch.randint(0, 5, (BATCH,), device="mps")


def backward(model, scaler, inputs, targets, parts: int) -> None:
    for x, y in zip(inputs.chunk(parts), targets.chunk(parts), strict=True):
        with torch.autocast("mps", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss / parts).backward()


def gradients(model, inputs, targets, parts: int) -> list[torch.Tensor]:
    model = copy.deepcopy(model)
    scaler = torch.amp.GradScaler("mps")
    backward(model, scaler, inputs, targets, parts)
    scaler.unscale_(torch.optim.SGD(model.parameters()))
    return [parameter.grad for parameter in model.parameters()]


def test_the_gradient_is_that_of_the_whole_batch(setting):
    """Off by the roundings that the parts have and the whole has not.

    All divisors are powers of two, so the gradient of a row's loss has the same bits in a part and in the whole. From
    there on each product is summed in float32 and rounded to float16, for the whole and for each part: half a unit in
    the last place of each. There are three products behind the first layer's weights, and one behind the last's.
    """
    model, inputs, targets = setting
    whole = gradients(model, inputs, targets, 1)
    together = gradients(model, inputs, targets, PARTS)
    rows = zip(inputs.chunk(PARTS), targets.chunk(PARTS), strict=True)
    alone = [[gradient / PARTS for gradient in gradients(model, x, y, 1)] for x, y in rows]
    for one, other, *parts in zip(whole, together, *alone, strict=True):
        bound = 3 * HALF_ROUNDING * (one.norm() + sum(part.norm() for part in parts))
        assert (one - other).norm() <= bound
        assert one.norm() > 0.01


def test_the_gradient_is_that_of_float32(setting):
    """Scaled, unscaled and summed: off by rounding, not by a factor. Three products of float16 lie behind it."""
    model, inputs, targets = setting
    reference = copy.deepcopy(model).cpu()
    nn.functional.cross_entropy(reference(inputs.cpu()), targets.cpu()).backward()
    for parameter, found in zip(reference.parameters(), gradients(model, inputs, targets, PARTS), strict=True):
        error = (found.cpu() - parameter.grad).norm() / parameter.grad.norm()
        assert error < 8 * HALF_ROUNDING


def train(model, inputs, targets, parts: int, steps: int = 5):
    model = copy.deepcopy(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("mps")
    for _ in range(steps):
        optimiser.zero_grad()
        backward(model, scaler, inputs, targets, parts)
        scaler.unscale_(optimiser)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimiser)
        scaler.update()
    return model, scaler


def test_clipped_steps_end_at_the_same_weights(setting):
    """A step moves by lr * 0.5 at most, and its direction is known to a few roundings of float16."""
    model, inputs, targets = setting
    (whole, _), (parts, _) = (train(model, inputs, targets, parts) for parts in (1, PARTS))
    difference = sum((a - b).square().sum() for a, b in zip(whole.parameters(), parts.parameters(), strict=True)).sqrt()
    moved = sum((a - b).square().sum() for a, b in zip(whole.parameters(), model.parameters(), strict=True)).sqrt()
    assert moved > 0.1 and difference < 8 * HALF_ROUNDING * moved


@pytest.mark.parametrize("bad", range(PARTS))
def test_one_bad_part_spoils_the_step(setting, bad):
    """However late it comes: the parts before it do not get through, and the scale is halved once."""
    model, inputs, targets = setting
    inputs = inputs.clone()
    inputs[bad * BATCH // PARTS] = float("inf")
    after, scaler = train(model, inputs, targets, PARTS, steps=1)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), after.parameters(), strict=True))
    assert scaler.get_scale() == 2.0**15
