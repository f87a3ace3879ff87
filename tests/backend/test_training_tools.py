"""What training code takes for granted: autocast, GradScaler, optimisers, functorch, export, deterministic mode."""

import copy

import pytest
import torch
from torch import nn


def test_autocast_picks_the_devices_types():
    x, w = torch.randn(4, 4, device="mps"), torch.randn(4, 4, device="mps")
    with torch.autocast("mps"):
        assert (x @ w).dtype == torch.float16
        assert (x @ w).exp().dtype == torch.float32
    with torch.autocast("mps", dtype=torch.bfloat16):
        assert nn.functional.linear(x, w).dtype == torch.bfloat16
    assert (x @ w).dtype == torch.float32


def test_cpu_autocast_does_not_reach_the_device():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = torch.randn(4, 4, device="mps")
        assert (x @ x).dtype == torch.float32


def test_grad_scaler_skips_a_bad_step():
    layer = nn.Linear(2, 1, bias=False).to("mps")
    before = layer.weight.detach().clone()
    scaler = torch.amp.GradScaler("mps", init_scale=2.0**10)
    optimiser = torch.optim.SGD(layer.parameters(), lr=1.0)
    scaler.scale(layer(torch.full((1, 2), float("inf"), device="mps")).sum()).backward()
    scaler.step(optimiser)
    scaler.update()
    assert torch.equal(layer.weight, before) and scaler.get_scale() == 2.0**9
    optimiser.zero_grad()
    scaler.scale(layer(torch.ones(1, 2, device="mps")).sum()).backward()
    scaler.step(optimiser)
    assert torch.equal(layer.weight, before - 1)


@pytest.mark.parametrize("kind", ["plain", "foreach", "fused"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_optimisers_follow_the_cpu(name, kind):
    options = {"plain": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}[kind]
    torch.manual_seed(0)
    here = nn.Linear(8, 4)
    there = copy.deepcopy(here).to("mps")
    x = torch.randn(3, 8)
    for layer, data in ((here, x), (there, x.to("mps"))):
        optimiser = getattr(torch.optim, name)(layer.parameters(), lr=0.1, weight_decay=0.01, **options)
        for _ in range(3):
            optimiser.zero_grad()
            layer(data).square().mean().backward()
            optimiser.step()
    torch.testing.assert_close(there.weight.cpu(), here.weight, rtol=1e-6, atol=1e-6)


def test_functorch_transforms():
    x = torch.randn(3, 4, device="mps")
    f = lambda t: (t.sin() * t).sum()  # noqa: E731
    expected = x.cos() * x + x.sin()
    assert torch.allclose(torch.func.grad(f)(x), expected, atol=1e-6)
    assert torch.allclose(torch.func.vmap(torch.func.grad(f))(x), expected, atol=1e-6)
    assert torch.func.jacrev(torch.sin)(x[0]).shape == (4, 4)
    assert torch.func.hessian(f)(x[0]).device.type == "mps"
    _, tangent = torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))
    assert torch.allclose(tangent, x.cos(), atol=1e-6)


def test_vmap_with_randomness():
    out = torch.func.vmap(lambda t: t + torch.rand_like(t), randomness="different")(torch.zeros(3, 2, device="mps"))
    assert out.unique().numel() == 6


def test_export_and_run():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to("mps")
    x = torch.randn(2, 4, device="mps")
    program = torch.export.export(model, (x,))
    assert torch.equal(program.module()(x), model(x))


def test_deterministic_mode_alerts():
    x = torch.zeros(4, device="mps")
    index = torch.tensor([0, 0], device="mps")
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
            x.index_put_((index,), torch.ones(2, device="mps"), accumulate=True)
        assert torch.isnan(torch.empty(3, device="mps")).all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_double_backward():
    x = torch.randn(3, device="mps", requires_grad=True)
    (grad,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), x)
    assert torch.allclose(second, 6 * x, atol=1e-5)


def test_lstm_gradient_is_the_cpus_and_can_be_taken_twice():
    torch.manual_seed(0)
    here = nn.LSTM(4, 5, num_layers=2, bidirectional=True)
    there = copy.deepcopy(here).to("mps")
    x = torch.randn(6, 2, 4)

    def gradients(layer, data):
        out, (h, c) = layer(data)
        loss = out.square().sum() + h.sum() * c.sum()
        loss.backward(retain_graph=True)
        loss.backward()
        return [out.cpu()] + [p.grad.cpu() for p in layer.parameters()]

    for a, b in zip(gradients(here, x), gradients(there, x.to("mps")), strict=True):
        assert torch.equal(a, b)


def test_lstm_dropout_uses_the_devices_generator():
    layer = nn.LSTM(4, 5, num_layers=2, dropout=0.5).to("mps")
    x = torch.randn(6, 2, 4, device="mps")
    torch.mps.manual_seed(1)
    first = layer(x)[0]
    cpu_state = torch.get_rng_state()
    torch.mps.manual_seed(1)
    assert torch.equal(layer(x)[0], first)
    assert torch.equal(torch.get_rng_state(), cpu_state)


def test_inference_mode():
    with torch.inference_mode():
        x = torch.randn(3, device="mps")
        assert (x + 1).is_inference() and x.add_(1).is_inference()
    assert not (torch.ones(1, device="mps") + 1).is_inference()
