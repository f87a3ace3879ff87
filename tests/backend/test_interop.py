"""Other libraries and other processes: numpy, DLPack, safetensors, multiprocessing, DataLoader, pinned memory."""

import numpy
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset


def test_numpy_refuses_as_on_a_mac():
    with pytest.raises(TypeError, match="can't convert mps:0 device type tensor to numpy"):
        torch.ones(2, device="mps").numpy()
    with pytest.raises(TypeError, match="can't convert mps:0 device type tensor to numpy"):
        numpy.asarray(torch.ones(2, device="mps"))


def test_numpy_in():
    assert torch.from_numpy(numpy.arange(3)).to("mps").tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="float64"):
        torch.tensor(numpy.ones(2), device="mps")


def test_dlpack_round_trip():
    x = torch.arange(4.0, device="mps")
    assert x.__dlpack_device__()[0] == 8  # kDLMetal
    y = torch.from_dlpack(x)
    y.add_(1)
    assert y.device.type == "mps" and x.tolist() == [1, 2, 3, 4]


def test_safetensors_round_trip(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    path = str(tmp_path / "x.safetensors")
    safetensors.save_file({"w": torch.arange(4.0, device="mps")}, path)
    assert safetensors.load_file(path, device="mps")["w"].device.type == "mps"
    assert safetensors.load_file(path)["w"].tolist() == [0, 1, 2, 3]


SPAWN = """
import torch, torch.multiprocessing as mp
def work(rank, queue):
    queue.put(float((torch.ones(4, device="mps") * rank).sum()))
if __name__ == "__main__":
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, args=(queue,), nprocs=2)
    print(sorted([queue.get(), queue.get()]))
"""


def test_spawn(tmp_path):
    import subprocess
    import sys

    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    finished = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert finished.stdout.strip() == "[0.0, 4.0]", finished.stderr


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("pin", [False, True])
def test_dataloader(workers, pin):
    data = TensorDataset(torch.arange(8.0))
    batches = [batch.to("mps") for (batch,) in DataLoader(data, batch_size=4, num_workers=workers, pin_memory=pin)]
    assert torch.cat(batches).tolist() == list(range(8))


def test_pinned_memory():
    x = torch.arange(3.0).pin_memory()
    assert x.device.type == "cpu" and x.is_pinned() and x.tolist() == [0, 1, 2]
    assert not torch.arange(3.0).is_pinned()
    assert not torch.ones(2, device="mps").is_pinned()
    del x
    assert not torch.empty(3).is_pinned()
