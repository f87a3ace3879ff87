"""Storages and tensors: creation, movement, views, resizing, copies, files."""

import copy
import io
import pickle

import pytest
import torch

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool,
]  # fmt: skip


def sample(dtype):
    return torch.arange(6).reshape(2, 3).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("non_blocking", [False, True])
def test_there_and_back(dtype, non_blocking):
    x = sample(dtype)
    y = x.to("mps", non_blocking=non_blocking)
    assert y.device == torch.device("mps:0") and y.dtype == dtype
    assert torch.equal(y.cpu(), x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize(
    "door",
    [
        lambda d: torch.zeros(2, dtype=d, device="mps"),
        lambda d: torch.empty(2, dtype=d, device="mps"),
        lambda d: torch.zeros(2, dtype=d).to("mps"),
        lambda d: torch.zeros(2, device="mps").to(d),
        lambda d: torch.tensor([1.0], dtype=d, device="mps"),
        lambda d: torch.ones(2, device="mps").type(d),
        lambda d: torch.sum(torch.ones(2, device="mps"), dtype=d),
    ],
)
def test_float64_is_refused_at_every_door(dtype, door):
    with pytest.raises(TypeError, match="Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't"):
        door(dtype)


def test_more_than_16_dimensions_are_refused():
    with pytest.raises(RuntimeError, match=r"MPS supports tensors with dimensions <= 16, but got 17\."):
        torch.empty((1,) * 17, device="mps")


def test_views_share_memory():
    x = torch.arange(12.0, device="mps").reshape(3, 4)
    x.t()[1].add_(100)
    x[1:, ::2].zero_()
    assert x.cpu().tolist() == [[0, 101, 2, 3], [0, 105, 0, 7], [0, 109, 0, 11]]


def test_in_place_on_overlapping_arguments_is_refused_as_on_cpu():
    x = torch.zeros(3, device="mps")
    with pytest.raises(RuntimeError, match="single memory location"):
        x[:1].expand(3).add_(1)


def test_resize_keeps_what_was_there():
    x = torch.arange(4.0, device="mps")
    x.resize_(8)
    assert x[:4].cpu().tolist() == [0, 1, 2, 3]
    x.resize_(2)
    assert x.cpu().tolist() == [0, 1]


def test_out_is_resized_and_returned():
    out = torch.empty(0, device="mps")
    got = torch.add(torch.ones(3, device="mps"), 1, out=out)
    assert got is out and out.cpu().tolist() == [2, 2, 2]


def test_out_that_is_a_view_of_an_argument():
    x = torch.arange(6.0, device="mps")
    torch.mul(x[:3], 2, out=x[3:])
    assert x.cpu().tolist() == [0, 1, 2, 0, 2, 4]


def test_set_and_its_refusal():
    x = torch.arange(4.0, device="mps")
    y = torch.empty(0, device="mps").set_(x.untyped_storage(), 1, (2,), (2,))
    assert y.cpu().tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="Attempted to set the storage of a tensor on device"):
        y.set_(torch.ones(2).untyped_storage())


def test_channels_last_is_kept():
    x = torch.randn(2, 3, 4, 5, device="mps").to(memory_format=torch.channels_last)
    assert (x + 1).is_contiguous(memory_format=torch.channels_last)
    assert torch.empty_like(x).is_contiguous(memory_format=torch.channels_last)
    conv = torch.nn.Conv2d(3, 2, 1).to("mps", memory_format=torch.channels_last)
    assert conv(x).is_contiguous(memory_format=torch.channels_last)


def test_conjugate_and_negative_bits():
    x = torch.tensor([1 + 2j, 3 - 4j], device="mps")
    assert x.conj().is_conj() and torch.equal(x.conj().cpu(), torch.tensor([1 - 2j, 3 + 4j]))
    assert torch.equal((x.conj() * x).cpu(), torch.tensor([5 + 0j, 25 + 0j]))
    assert x.conj().imag.is_neg() and x.conj().imag.cpu().tolist() == [-2, 4]
    assert torch.equal(x.conj().resolve_conj().cpu(), x.conj().cpu())


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), torch.clone])
def test_copies_are_equal_and_apart(clone):
    x = torch.arange(4.0, device="mps", requires_grad=False)
    y = clone(x)
    y.add_(1)
    assert y.device.type == "mps" and x.cpu().tolist() == [0, 1, 2, 3]


def test_deepcopy_of_a_module_keeps_tied_weights():
    layer = torch.nn.Linear(3, 3).to("mps")
    layer.again = layer.weight
    other = copy.deepcopy(layer)
    assert other.again is other.weight and other.weight.device.type == "mps"


@pytest.mark.parametrize("location", ["mps", "cpu", "mps:0", torch.device("mps"), {"mps": "cpu"}, None])
@pytest.mark.parametrize("mmap", [False, True])
def test_save_and_load(location, mmap, tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"a": torch.arange(3.0, device="mps"), "b": torch.ones(2, device="mps")}, path)
    loaded = torch.load(path, map_location=location, mmap=mmap and location == "cpu")
    wanted = "cpu" if location in ("cpu", {"mps": "cpu"}) else "mps"
    assert loaded["a"].device.type == wanted and loaded["a"].tolist() == [0, 1, 2]


def test_load_of_shared_storage_stays_shared():
    base = torch.arange(4.0, device="mps")
    buffer = io.BytesIO()
    torch.save([base, base[1:]], buffer)
    buffer.seek(0)
    a, b = torch.load(buffer)
    a.add_(1)
    assert b.cpu().tolist() == [2, 3, 4]


def test_untyped_storage_constructor():
    storage = torch.UntypedStorage(8, device="mps")
    assert storage.device.type == "mps" and storage.nbytes() == 8
    assert torch.UntypedStorage([1, 2, 3], device="mps").cpu().tolist() == [1, 2, 3]
    assert torch.UntypedStorage(4).device.type == "cpu"
    assert torch.UntypedStorage(4).mps().device.type == "mps"


def test_host_alias_shares_and_keeps_alive():
    x = torch.zeros(4, device="mps")
    alias = torch.mps._host_alias_storage(x.untyped_storage())
    assert alias.device.type == "cpu"
    host = torch.empty(0).set_(alias)
    host.fill_(7)
    assert x.cpu().tolist() == [7] * 4
    del x
    assert host.tolist() == [7] * 4


def test_printing_needs_no_copy_by_hand():
    assert "device='mps:0'" in repr(torch.ones(2, device="mps"))
