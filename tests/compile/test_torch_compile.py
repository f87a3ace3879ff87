"""torch.compile on the device: Inductor writes Metal, and that computes what eager PyTorch computes on the CPU."""

from __future__ import annotations

import pytest
import torch
import torch._inductor.config
import torch.nn.functional as F
from torch.utils._pytree import tree_map

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.fixture(autouse=True)
def fresh():
    """Nothing of Inductor's own cache: it may hold graphs that were made with another build of the device."""
    torch.manual_seed(0)
    with torch._inductor.config.patch(force_disable_caches=True):
        yield
    torch._dynamo.reset()


def on(device: str, value):
    return tree_map(lambda x: x.detach().to(device) if isinstance(x, torch.Tensor) else x, value)


def assert_as_on_the_cpu(function, *inputs, tolerance: float = 1e-5, **how):
    expected = function(*on("cpu", inputs))
    found = torch.compile(function, **how)(*on("mps", inputs))
    assert all(x.device.type == "mps" for x in torch.utils._pytree.tree_leaves(found))
    torch.testing.assert_close(on("cpu", found), expected, rtol=tolerance, atol=tolerance)


def rows(*size: int) -> torch.Tensor:
    return torch.randn(*size, generator=torch.Generator().manual_seed(7))


def some_in_place(x):
    y = x * 2
    y[1:].add_(x[:-1])
    y.t()[0].zero_()
    return y, y[::2, 3:]


def arithmetic_of_integers(x):
    i = (x * 100).to(torch.int32)
    return i // 7, i % 7, i << 2, i.to(torch.int64) * 3_000_000_000, i.to(torch.uint8), (i > 3) & (i < 9), ~(i == 0)


CASES = {
    "pointwise": lambda x: (x.sigmoid() * x.tanh() + x.exp().log1p()).clamp(-1, 2),
    "sum of short rows": lambda x: x.sum(-1),
    "sum of long rows": lambda x: x.flatten().sum(0),
    "maxima": lambda x: (x.amax(-1), x.amin(0), x.argmax(-1), x.argmin(-1)),
    "argmax of long rows": lambda x: x.flatten().argmax(),
    "any and all": lambda x: ((x > 2).any(-1), (x > -9).all(-1), (x > 2).any()),
    "product": lambda x: (1 + x * 0.01).prod(-1),
    "mean and variance": lambda x: torch.var_mean(x, -1),
    "variance of long rows": lambda x: torch.var_mean(x.flatten(), 0),
    "softmax": lambda x: (x.softmax(-1), x.log_softmax(0)),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "prefix sums": lambda x: (x.cumsum(-1), x.logcumsumexp(-1), x.cummax(0).values),
    "special functions": lambda x: torch.special.i0(x) + torch.erf(x) + torch.lgamma(x.abs() + 1) + torch.sinc(x),
    "integers and bools": arithmetic_of_integers,
    "in place and views": some_in_place,
    "gather and pad": lambda x: (F.pad(x, (2, 3), value=1.0), x.gather(1, x.argsort(1)), x.flip(0), x.roll(3, 1)),
    "concatenation": lambda x: torch.cat([x, x[:3] * 2, x.new_zeros(2, x.shape[1])]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_as_on_the_cpu(name):
    assert_as_on_the_cpu(CASES[name], rows(33, 130), tolerance=1e-4, fullgraph=True)


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune"])
def test_the_modes(mode):
    assert_as_on_the_cpu(lambda a, b: (a @ b).relu().sum(-1), rows(20, 30), rows(30, 40), mode=mode, tolerance=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_types_are_computed_in_float(dtype):
    x = rows(16, 256).to(dtype)
    found = torch.compile(lambda x: F.gelu(x).softmax(-1))(x.to("mps"))
    assert found.dtype == dtype
    expected = F.gelu(x.float()).softmax(-1)
    torch.testing.assert_close(found.cpu().float(), expected, rtol=2 * torch.finfo(dtype).eps, atol=1e-6)


def test_one_compilation_serves_all_sizes():
    counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    compiled = torch.compile(lambda x: (x - x.mean(-1, keepdim=True)).abs().sum(-1), dynamic=True, backend=counter)
    for width in (5, 64, 1025, 3000):
        x = rows(4, width)
        expected = (x - x.mean(-1, keepdim=True)).abs().sum(-1)
        torch.testing.assert_close(compiled(x.to("mps")).cpu(), expected, rtol=1e-4, atol=1e-4)
    assert counter.frame_count == 1


@pytest.mark.parametrize("with_gradient", [False, True])
def test_operators_with_a_front_end_for_the_device_take_symbolic_sizes(with_gradient):
    def heads(x, weight):
        queries = F.rms_norm(x, x.shape[-1:], weight)
        return F.scaled_dot_product_attention(queries, x, x, is_causal=True)

    compiled = torch.compile(heads, fullgraph=True)
    for length in (5, 9, 12):  # of which the second makes it a symbol
        x, weight = rows(1, 2, length, 8), rows(8)
        inputs = [value.to("mps").requires_grad_(with_gradient) for value in (x, weight)]
        torch.testing.assert_close(compiled(*inputs).detach().cpu(), heads(x, weight), rtol=1e-4, atol=1e-5)

    norm = torch.compile(lambda x, w: F.rms_norm(x, x.shape[-1:], w), fullgraph=True, dynamic=True)
    for width in (5, 9):
        x, weight = rows(3, width), rows(width)
        found = norm(x.to("mps"), weight.to("mps").requires_grad_(with_gradient))
        torch.testing.assert_close(found.detach().cpu(), F.rms_norm(x, [width], weight), rtol=1e-4, atol=1e-5)


def test_adding_at_the_same_place_from_many_threads():
    index = torch.randint(0, 5, (4000,))
    assert_as_on_the_cpu(
        lambda x, i: (x.new_zeros(5, 3).index_add(0, i, x), x.new_zeros(5, 3).index_put((i,), x, accumulate=True)),
        rows(4000, 3),
        index,
        tolerance=1e-3,
    )


def test_random_numbers_follow_the_seed():
    drop = torch.compile(lambda x: F.dropout(x, 0.25) + torch.rand_like(x) * 0)
    ones = torch.ones(100_000, device="mps")
    torch.manual_seed(5)
    first = drop(ones)
    second = drop(ones)
    torch.manual_seed(5)
    assert torch.equal(drop(ones), first)
    assert not torch.equal(first, second)
    assert abs((first == 0).float().mean().item() - 0.25) < 0.01


def test_a_kernel_reports_a_bad_index():
    take = torch.compile(lambda x, i: x[i])
    take(torch.rand(10, device="mps"), torch.tensor([1, 9], device="mps"))
    with pytest.raises(torch.AcceleratorError, match=r"Index 20 out of range \[0, 10\)"):
        take(torch.rand(10, device="mps"), torch.tensor([1, 20], device="mps"))
        torch.mps.synchronize()


def test_running_statistics_that_are_read_and_written_by_all_threads():
    """Inductor reads them as constant memory and writes them from every thread of a threadgroup, without a barrier."""
    batches = [rows(16, 8, 4, 4) + k for k in range(3)]
    norms = {}
    for device in ("cpu", "mps"):
        norm = norms[device] = torch.nn.BatchNorm2d(8).to(device)
        step = torch.compile(norm) if device == "mps" else norm
        for batch in batches:
            step(batch.to(device))
    torch.testing.assert_close(on("cpu", norms["mps"].state_dict()), norms["cpu"].state_dict())


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_convolutions_are_laid_out_as_the_compiler_expects(layout):
    def train(model, x):
        loss = model(x).square().mean()
        loss.backward()
        return loss.detach(), x.grad, [p.grad for p in model.parameters()]

    found = {}
    for device in ("cpu", "mps"):
        torch.manual_seed(3)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=2),
            torch.nn.SiLU(),
            torch.nn.ConvTranspose2d(8, 4, 2),
            torch.nn.Conv2d(4, 4, 3, groups=2),
        ).to(device)
        x = rows(2, 3, 17, 17).to(device).to(memory_format=layout).requires_grad_()
        with torch._inductor.config.patch(force_layout_optimization=True):
            found[device] = on("cpu", train(torch.compile(model) if device == "mps" else model, x))
    torch.testing.assert_close(found["mps"], found["cpu"], rtol=1e-4, atol=1e-5)


def test_a_graph_break_leaves_the_result_alone():
    def broken(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y.sum(-1) + 1

    assert_as_on_the_cpu(broken, rows(8, 8))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(broken, fullgraph=True)(rows(8, 8).to("mps"))


def test_flex_attention_and_its_mask():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def nearer(score, _batch, _head, query, key):
        return score - (query - key).abs() * 0.02

    def causal(_batch, _head, query, key):
        return query >= key

    q, k, v = (rows(1, 2, 192, 32) * factor for factor in (1.0, 0.5, 2.0))
    bias = -(torch.arange(192)[:, None] - torch.arange(192)).abs() * 0.02
    bias = bias.masked_fill(torch.ones(192, 192, dtype=torch.bool).triu(1), float("-inf"))
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    mask = create_block_mask(causal, None, None, 192, 192, device="mps")
    found = torch.compile(flex_attention)(q.to("mps"), k.to("mps"), v.to("mps"), score_mod=nearer, block_mask=mask)
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)
