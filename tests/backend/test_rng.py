"""The generator: PyTorch's Philox in its 44-byte state, with a Mac's integer streams to the bit."""

import struct

import pytest
import torch
from torch.utils.checkpoint import checkpoint

MASK = 0xFFFFFFFF


def philox(seed: int, index: int) -> list[int]:
    """A second implementation, from PyTorch's c10/metal/random.h: nine rounds, high words first."""
    counter = [0, 0, index >> 32 & MASK, index & MASK]
    key = [seed >> 32 & MASK, seed & MASK]
    for _ in range(9):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & MASK, first >> 32 ^ counter[3] ^ key[1], first & MASK]
        key = [key[0] + 0x9E3779B9 & MASK, key[1] + 0xBB67AE85 & MASK]
    return counter


@pytest.mark.parametrize("seed", [0, 42, 2**63 + 5])
def test_randint_stream_is_philox(seed):
    torch.mps.manual_seed(seed)
    drawn = torch.randint(0, 1000, (10,), device="mps", dtype=torch.int32).tolist()
    expected = [word % 1000 for index in range(3) for word in philox(seed, index)][:10]
    assert drawn == expected


def test_int64_takes_two_words_a_number():
    torch.mps.manual_seed(7)
    drawn = torch.randint(0, 10**12, (5,), device="mps").tolist()
    blocks = [philox(7, index) for index in range(3)]
    expected = [(b[2 * i] << 32 | b[2 * i + 1]) % 10**12 for b in blocks for i in range(2)][:5]
    assert drawn == expected


def test_uniform_is_31_bits_of_the_stream():
    torch.mps.manual_seed(3)
    drawn = torch.rand(4, device="mps").cpu()
    scale = torch.tensor(4.6566127342e-10)
    expected = torch.tensor([float(word & 0x7FFFFFFF) for word in philox(3, 0)]) * scale
    assert torch.equal(drawn, expected)


def test_a_range_is_the_uniform_stream_scaled_then_moved():
    """Two roundings on every machine: a compiler that fuses them gives other numbers for the same seed."""
    low, high = torch.tensor(0.1), torch.tensor(0.7)
    torch.mps.manual_seed(3)
    unit = torch.rand(4096, device="mps").cpu()
    torch.mps.manual_seed(3)
    drawn = torch.empty(4096, device="mps").uniform_(low.item(), high.item()).cpu()
    scaled = unit * (high - low)
    assert torch.equal(drawn, scaled + low)


def test_offset_advances_by_blocks():
    torch.mps.manual_seed(1)
    first = torch.rand(5, device="mps")  # five numbers take two blocks
    assert struct.unpack("<Q", bytes(torch.mps.get_rng_state()[36:].tolist()))[0] == 2
    torch.mps.manual_seed(1)
    assert torch.equal(torch.rand(5, device="mps"), first)


def test_small_randperm_is_the_shuffle_of_the_stream():
    torch.mps.manual_seed(11)
    drawn = torch.randperm(6, device="mps").tolist()
    words = philox(11, 0) + philox(11, 1)
    order = list(range(6))
    for i in range(5, 0, -1):
        j = words.pop(0) % (i + 1)
        order[i], order[j] = order[j], order[i]
    assert drawn == order


@pytest.mark.parametrize("n", [1, 384, 385, 5000, 40000])
def test_randperm_is_a_permutation(n):
    assert torch.equal(torch.randperm(n, device="mps").sort().values.cpu(), torch.arange(n))


def test_state_has_44_bytes_and_restores():
    torch.mps.manual_seed(5)
    torch.rand(100, device="mps")
    state = torch.mps.get_rng_state()
    assert state.shape == (44,) and state.dtype == torch.uint8 and state.device.type == "cpu"
    first = torch.randn(100, device="mps")
    torch.mps.set_rng_state(state)
    assert torch.equal(torch.randn(100, device="mps"), first)


def test_wrong_states_are_refused():
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        torch.mps.set_rng_state(torch.zeros(10, dtype=torch.uint8))
    with pytest.raises(TypeError, match=r"RNG state must be a torch\.ByteTensor"):
        torch.Generator(device="mps").set_state(torch.zeros(44))


def test_manual_seed_of_torch_reaches_the_device():
    torch.manual_seed(9)
    first = torch.rand(3, device="mps")
    torch.manual_seed(9)
    assert torch.equal(torch.rand(3, device="mps"), first)


def test_seed_differs_from_call_to_call():
    torch.mps.seed()
    first = torch.rand(3, device="mps")
    torch.mps.seed()
    assert not torch.equal(torch.rand(3, device="mps"), first)


def test_generators_are_independent():
    a = torch.Generator(device="mps").manual_seed(1)
    b = torch.Generator(device="mps").manual_seed(1)
    x = torch.rand(3, device="mps", generator=a)
    torch.rand(3, device="mps")
    assert torch.equal(torch.rand(3, device="mps", generator=b), x)


def test_a_cpu_generator_is_refused():
    with pytest.raises(RuntimeError, match=r"Expected a 'mps' (device type for )?generator"):
        torch.rand(3, device="mps", generator=torch.Generator())


def test_fork_rng_restores_the_device():
    torch.mps.manual_seed(2)
    with torch.random.fork_rng(devices=[0], device_type="mps"):
        torch.rand(10, device="mps")
    inside = torch.rand(3, device="mps")
    torch.mps.manual_seed(2)
    assert torch.equal(torch.rand(3, device="mps"), inside)


def test_the_cpu_generator_is_left_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    torch.rand(100, device="mps")
    torch.nn.functional.dropout(torch.ones(100, device="mps"))
    assert torch.equal(torch.rand(3), expected)


def test_checkpoint_stashes_the_state_only_when_told():
    """PyTorch 2.13 stashes a device's state if its module says `_initialized`; torch.mps has none, on a Mac too."""
    x = torch.ones(64, 64, device="mps", requires_grad=True)

    def gradient_matches_output() -> bool:
        x.grad = None
        out = checkpoint(lambda t: torch.nn.functional.dropout(t, 0.5), x, use_reentrant=False)
        out.sum().backward()
        return torch.equal(x.grad, out)

    assert not gradient_matches_output()
    with torch.random.fork_rng(devices=[0], device_type="mps"):
        torch.mps.manual_seed(0)
        state = torch.mps.get_rng_state()

        def seeded(t):
            torch.mps.set_rng_state(state)
            return torch.nn.functional.dropout(t, 0.5)

        out = checkpoint(seeded, x, use_reentrant=False)
        x.grad = None
        out.sum().backward()
    assert torch.equal(x.grad, out)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_moments(dtype):
    torch.mps.manual_seed(0)
    x = torch.empty(100_000, device="mps", dtype=dtype)
    assert abs(x.uniform_(2, 4).float().mean().item() - 3) < 0.02
    assert abs(x.normal_(1, 2).float().std().item() - 2) < 0.03
    assert abs(x.exponential_(2.0).float().mean().item() - 0.5) < 0.02
    assert abs(x.bernoulli_(0.3).float().mean().item() - 0.3) < 0.01
    assert abs(x.log_normal_(0.0, 0.25).float().log().std().item() - 0.25) < 0.01
    assert abs(x.cauchy_(5.0, 1.0).float().median().item() - 5) < 0.06
    assert abs(x.geometric_(0.25).float().mean().item() - 4) < 0.1
