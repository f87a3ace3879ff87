"""What a reader of each block brings along, and what the block then has to do on this device."""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import os
import pathlib
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator

import anymps
import pytest
import torch
from anymps import _C, _capture, _compile
from guide_text import Block
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MIB = 1 << 20
# Buffers from this size on have a heap each, so that none that other tests left can serve.
LARGE = 512 * MIB
CLASSES = 3
FEATURES = 8


class Runner:
    """Runs one block, in this process or in one of its own."""

    def __init__(self, block: Block, folder: pathlib.Path) -> None:
        self.text = block.text
        self.folder = folder
        self.output = ""

    def shrink(self, number: str, smaller: str, *, times: int) -> None:
        """A product of matrices that takes ten seconds on two cores and more, in another size for the same lines."""
        assert self.text.count(number) == times
        self.text = self.text.replace(number, smaller)

    def run(self, *, warns: tuple[str, ...] = (), **names) -> dict:
        """The block's names when it is done. It may use these from outside, must use all, and warns just of this."""
        read = {node.id for node in ast.walk(ast.parse(self.text)) if isinstance(node, ast.Name)}
        assert set(names) <= read, "the block reads no such name"
        said = io.StringIO()
        for once in (_capture._say_where, _compile._say_where):
            once.cache_clear()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(said):
            warnings.simplefilter("always")
            exec(compile(self.text, "guide", "exec"), names)
            self.after(names)
        self.output = said.getvalue()
        # Deprecations are PyTorch's affair with itself: they come as its modules are imported.
        texts = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
        assert [any(text in other for other in texts) for text in warns] == [True] * len(warns), texts
        assert [text for text in texts if not any(known in text for known in warns)] == []
        return names

    def after(self, names: dict) -> None:
        """What a reader calls of what the block defines, where its warnings count."""

    def run_alone(self, *, before: str = "", after: str = "", **environment: str) -> subprocess.CompletedProcess:
        """As a program, with a reader's lines before and after it."""
        program = self.folder / "program.py"
        program.write_text("\n".join((before, self.text, after)))
        finished = subprocess.run(
            [sys.executable, program], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
        )
        assert finished.returncode == 0, finished.stderr
        return finished


CASES: dict[str, Callable[[Runner], None]] = {}
# What docs/guides.md has to say of the block.
OUTCOMES: dict[str, str] = {}


def case(block: str, outcome: str = "runs"):
    def add(function):
        CASES[block], OUTCOMES[block] = function, outcome
        return function

    return add


def network(inputs: int = FEATURES) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 16), nn.ReLU(), nn.Linear(16, CLASSES))


def batch(size: int = 4, features: int = FEATURES) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(size, features), torch.randint(0, CLASSES, (size,))


def parameters(model: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().cpu().flatten() for parameter in model.parameters()])


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.5)


def after_steps(model: nn.Module, batches: Iterator) -> torch.Tensor:
    """The parameters after a plain loop on the CPU."""
    optimizer = sgd(model)
    for inputs, targets in batches:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    return parameters(model)


def same(here: torch.Tensor, there: torch.Tensor) -> None:
    """float32 on both sides; a sum that is taken in parts rounds otherwise."""
    torch.testing.assert_close(here, there, rtol=1e-5, atol=1e-6)


@contextlib.contextmanager
def no_room() -> Iterator[None]:
    """Refuses every buffer that is not small."""
    before = _C.memory_limit()
    best = torch.mps.recommended_max_memory()
    torch.mps.empty_cache()
    torch.mps.set_per_process_memory_fraction((torch.mps.driver_allocated_memory() + MIB) / best)
    try:
        yield
    finally:
        torch.mps.set_per_process_memory_fraction((before or 0) / best)


# Guide 1


@case("1.1")
def limits_from_the_environment_and_by_call(block):
    finished = block.run_alone(
        after="""
import anymps
torch.ones(1, device="mps")
limits = anymps.memory.snapshot()["allocator_settings"]
best = limits["recommended_max_memory"]
print(limits["high_watermark"] / best, limits["low_watermark"] / best)
"""
    )
    # The call comes last, and wins; what the environment says of the other limit stays.
    assert [round(float(ratio), 4) for ratio in finished.stdout.split()] == [0.9, 1.2]
    assert finished.stderr == ""


def frees_the_cache(block):
    torch.empty(LARGE, dtype=torch.uint8, device="mps")
    before = torch.mps.driver_allocated_memory()
    block.run(torch=torch)
    assert torch.mps.driver_allocated_memory() <= before - LARGE


@case("1.2")
def cache(block):
    frees_the_cache(block)


@case("1.3")
def gradients_to_none(block):
    model = network().to("mps")
    model(batch()[0].to("mps")).sum().backward()
    block.run(model=model)
    assert all(parameter.grad is None for parameter in model.parameters())


@case("1.4")
def checkpoint(block):
    layer = network().to("mps")
    holder = nn.Module()
    holder.expensive_layer = layer
    here = batch()[0].to("mps").requires_grad_()
    there = here.detach().clone().requires_grad_()

    def use(names):
        names["forward"](holder, here).sum().backward()

    block.after = use
    block.run(warns=("the use_reentrant parameter should be passed explicitly",))
    layer(there).sum().backward()
    assert torch.equal(here.grad, there.grad)


def accumulates(block, steps: int, **names):
    """Parts of two, `steps` of them a step, end where whole batches do."""
    model = network()
    there = copy.deepcopy(model)
    parts = [batch(2) for _ in range(2 * steps)]
    model.to("mps")
    result = block.run(model=model, optimizer=sgd(model), **{name: parts for name in names.pop("loaders")}, **names)
    whole = [tuple(map(torch.cat, zip(*parts[i : i + steps], strict=True))) for i in (0, steps)]
    same(parameters(model), after_steps(there, whole))
    return result


@case("1.5")
def accumulation(block):
    accumulates(block, 4, loaders=["loader"], loss_fn=nn.CrossEntropyLoss(), accumulation_steps=4)


@case("1.6")
def half_by_hand(block):
    model = network().half().to("mps")
    inputs, targets = batch()
    names = block.run(torch=torch, model=model, inputs=inputs, targets=targets, loss_fn=nn.CrossEntropyLoss())
    assert names["outputs"].dtype == names["loss"].dtype == torch.float16
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    with pytest.raises(RuntimeError, match="must have the same dtype"):
        block.run(torch=torch, model=network().to("mps"), inputs=inputs, targets=targets, loss_fn=nn.CrossEntropyLoss())


@case("1.7", "fails")
def a_dict_has_no_to(block):
    model = network().double()
    torch.save(model.state_dict(), "model.pt")
    with pytest.raises(AttributeError, match=r"^'collections\.OrderedDict' object has no attribute 'to'$"):
        block.run(torch=torch)
    narrow = network()
    narrow.load_state_dict(anymps.to_float32(torch.load("model.pt", map_location="cpu")))
    same(parameters(narrow.to("mps")), parameters(model).float())


@case("1.8")
def loader_without_pinning(block):
    inputs, targets = batch(40)
    names = block.run(DataLoader=DataLoader, dataset=TensorDataset(inputs, targets), inputs=inputs)
    assert torch.equal(names["inputs"].cpu(), inputs) and names["inputs"].device.type == "mps"
    assert [len(part) for part, _ in names["dataloader"]] == [32, 8]


FALL_BACK = "import torch; print(torch.poisson(torch.zeros(3, device='mps')).tolist())"


@case("1.9")
def fallback(block):
    finished = block.run_alone(after=FALL_BACK)
    assert finished.stdout == "[0.0, 0.0, 0.0]\n"
    assert "The operator 'aten::poisson' is not currently supported on the MPS backend and will fall back" in (
        finished.stderr
    )


@case("1.10")
def fallbacks_are_logged(block):
    finished = block.run_alone(before="import os, torch", after=FALL_BACK, PYTORCH_ENABLE_MPS_FALLBACK="1")
    assert "[mps] fallback to the CPU: aten::poisson(Float[3])" in finished.stderr


@case("1.11")
def signposts(block):
    model, inputs = network().to("mps"), batch()[0].to("mps")
    names = block.run(torch=torch, model=model, input_tensor=inputs)
    assert torch.equal(names["output"], model(inputs))


@case("1.12")
def capture(block):
    model, inputs = network().to("mps"), batch()[0].to("mps")
    asks = "torch.mps.is_metal_capture_enabled is not there on a Mac"
    for enabled, more in (("0", ()), ("1", ("torch.mps.metal_capture is not there on a Mac",))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MTL_CAPTURE_ENABLED", enabled)
            names = block.run(torch=torch, model=model, input_tensor=inputs, warns=(asks, *more))
        assert ("output" in names) == bool(more)
        assert len(list(pathlib.Path().glob("*.gputrace"))) == len(more)


@case("1.13")
def compiled(block):
    model, inputs = network().to("mps"), batch()[0].to("mps")
    expected = model(inputs)

    def use(names):
        with torch.no_grad():
            names["output"] = names["model"](inputs)

    block.after = use
    text = 'torch.compile(backend="mps") is not there on a Mac, where PyTorch has it as backend="inductor"'
    try:
        names = block.run(torch=torch, model=model, warns=(text,))
    finally:
        torch._dynamo.reset()
    same(names["output"].cpu(), expected.detach().cpu())


# Guide 3


@case("3.1")
def three_quarters(block):
    frees_the_cache(block)
    assert _C.memory_limit() == int(0.75 * torch.mps.recommended_max_memory())
    assert [line.split(":")[0] for line in block.output.splitlines()] == ["Allocated", "Cached"]


@case("3.2")
def memory_by_phase(block):
    inputs, targets = batch()
    names = {"input": inputs.to("mps"), "target": targets.to("mps")}
    block.run(torch=torch, model=network().to("mps"), criterion=nn.CrossEntropyLoss(), **names)
    said = block.output.splitlines()
    assert len(said) == 3 and all(line.endswith(" MB") and "- Allocated: " in line for line in said)


@case("3.3")
def scaler_without_a_device(block):
    model = network()
    there = copy.deepcopy(model)
    model.to("mps")
    parts = [batch(16) for _ in range(3)]
    names = block.run(
        torch=torch,
        model=model,
        optimizer=sgd(model),
        criterion=nn.CrossEntropyLoss(),
        dataloader=parts,
        warns=("GradScaler is enabled, but CUDA is not available.  Disabling.",),
    )
    assert not names["scaler"].is_enabled() and names["gradient_ok"] and names["outputs"].dtype == torch.float16
    # Nothing is scaled, but nothing is small enough here to need it: half's rounding over three steps.
    torch.testing.assert_close(parameters(model), after_steps(there, parts), rtol=0.01, atol=0.002)


@case("3.4")
def accumulation_for_transformers(block):
    names = accumulates(block, 4, loaders=["dataloader"], criterion=nn.CrossEntropyLoss())
    assert names["accumulation_steps"] == 4


@case("3.5")
def normalisations(block):
    names = block.run(nn=nn, channels=4, hidden_size=FEATURES)
    volume, rows = torch.randn(2, 4, 3, 3, 3), batch()[0]
    same(names["norm"](volume.to("mps")).cpu(), names["norm"](volume))
    same(names["layer_norm"].to("mps")(rows.to("mps")).detach().cpu(), nn.LayerNorm(FEATURES)(rows).detach())
    detour = names["SafeLayerNorm"](FEATURES)(rows.to("mps"))
    assert detour.device.type == "mps"
    # What the detours are for is right without them.
    direct = nn.BatchNorm3d(4)
    same(copy.deepcopy(direct).to("mps")(volume.to("mps")).detach().cpu(), direct(volume).detach())


@case("3.6")
def sparse(block):
    indices, values = torch.tensor([[0, 1, 2], [2, 0, 1]]), torch.tensor([1.0, 2.0, 3.0])
    dense = torch.randn(3, 4)
    matrix = torch.zeros(3, 3)
    matrix[tuple(indices)] = values
    expected = matrix @ dense
    # Where nobody asked for these checks or against them, PyTorch warns, once in a process.
    with torch.sparse.check_sparse_tensor_invariants():
        names = block.run(torch=torch, indices=indices, values=values, size=(3, 3), dense=dense.to("mps"))
    same(names["result"].cpu(), expected)
    assert names["sparse_tensor"].is_sparse and names["sparse_tensor"].device.type == "mps"
    same(torch.matmul(names["sparse_tensor"], names["dense"]).cpu(), expected)
    same(names["sparse_matmul_safe"](names["sparse_tensor"], names["dense"]).cpu(), expected)


@case("3.7")
def out_of_place(block):
    x, y = torch.randn(5), torch.randn(5)
    names = block.run(x=x.to("mps"), y=y.to("mps"))
    assert torch.equal(names["x"].cpu(), x + y) and torch.equal(names["safe_add"](x, y), x + y)
    # What it steers clear of is right, too.
    assert torch.equal(x.to("mps").add_(y.to("mps")).cpu(), x + y)
    assert torch.equal(x.to("mps").mul_(y.to("mps")).cpu(), x * y)


@case("3.8", "fails")
def a_generator_yields_once(block):
    def greedy(inputs):
        return torch.empty(LARGE, dtype=torch.uint8, device="mps")

    # It is harmless where there is memory, and fails in the one case that it is for.
    assert block.run(torch=torch, model=torch.sin, large_input=torch.zeros(1, device="mps"))["output"].item() == 0
    with no_room(), pytest.raises(RuntimeError, match=r"^generator didn't stop after throw\(\)$"):
        block.run(torch=torch, model=greedy, large_input=None)
    with no_room(), pytest.raises(RuntimeError, match=r"^MPS backend out of memory"):
        anymps.retry_on_oom(greedy)(None)
    fits = anymps.retry_on_oom(lambda size: torch.zeros(size, device="mps"), smaller=lambda size: (size // 64,))
    with no_room():
        assert 0 < len(fits(LARGE)) < LARGE


READER = """
import torch
model = torch.nn.Linear(8, 2).to("mps")
input = torch.ones(4, 8, device="mps")
"""


@case("3.9")
def profile_then_log(block):
    finished = block.run_alone(
        before=READER,
        after="""
assert next(event for event in prof.key_averages() if event.key == "aten::linear").device_time_total > 0
torch.empty(1000, device="mps")
""",
    )
    assert "model_inference" in finished.stdout and "aten::linear" in finished.stdout
    assert "Self MPS time total" in finished.stdout
    assert "[mps] allocated 4096 bytes" in finished.stderr


@case("3.10")
def parameters_to_float32(block):
    model = network().double()
    before = parameters(model)
    block.run(torch=torch, model=model)
    same(parameters(model.to("mps")), before.float())


@case("3.11")
def workers_by_cores(block):
    inputs, targets = batch(40)
    names = block.run(DataLoader=DataLoader, dataset=TensorDataset(inputs, targets), os=os)
    assert names["dataloader"].num_workers >= 1
    # The workers are forked while the device is in use; they never touch it.
    received = torch.cat([part.to("mps") for part, _ in names["dataloader"]])
    assert torch.equal(received.cpu(), inputs)


@case("3.12")
def both_devices(block):
    model, images = network().to("mps"), batch()[0]
    names = block.run(torch=torch, model=model, preprocess_on_cpu=lambda images: images * 2)
    answer = names["process_batch"](images)
    assert answer.device.type == "cpu" and torch.equal(answer, model((images * 2).to("mps")).detach().cpu())


# Guide 4


@case("4.2")
def availability(block):
    block.run()
    assert block.output == "MPS device is available\nNumber of MPS devices: 1\n"


@case("4.3")
def three_ways(block):
    names = block.run()
    assert names["tensor"].device == names["tensor_mps"].device == torch.device("mps", 0)
    assert torch.equal(names["tensor_mps"].cpu(), names["tensor_cpu"])


@case("4.4")
def product(block):
    names = block.run()
    assert names["result_cpu"].device.type == "cpu"
    torch.testing.assert_close(names["result_cpu"], (names["x"].cpu() @ names["y"].cpu()).sum(), rtol=1e-4, atol=1e-2)


@case("4.5")
def training(block):
    loader = [batch(8, 784)] * 2
    names = block.run(num_epochs=5, train_loader=loader)
    with torch.no_grad():
        loss = names["criterion"](names["model"](loader[0][0].to("mps")), loader[0][1].to("mps"))
    # Ten steps on one batch: from ln(10) at the start.
    assert loss.item() < 1.0


@case("4.6")
def memory_figures(block):
    tensor = torch.ones(MIB, device="mps")
    names = block.run()
    assert tensor.nbytes <= names["allocated"] <= names["driver_allocated"] <= names["recommended_max"]
    assert block.output.count(" GB\n") == 3


@case("4.7")
def cache_and_fraction(block):
    frees_the_cache(block)
    assert _C.memory_limit() == int(0.8 * torch.mps.recommended_max_memory())


@case("4.8")
def fraction_and_look(block):
    block.run(torch=torch)
    assert _C.memory_limit() == int(0.8 * torch.mps.recommended_max_memory()) and block.output == ""


@case("4.9")
def wait(block):
    block.shrink("10000", "1000", times=2)
    names = block.run()
    same(names["result_cpu"], names["tensor"].cpu() @ names["tensor"].cpu().T)


@case("4.10")
def random_numbers(block):
    names = block.run()
    torch.mps.set_rng_state(names["rng_state"])
    assert torch.equal(torch.randn(100, 100, device="mps"), names["random_tensor"])


@case("4.11")
def events(block):
    model, inputs = network().to("mps"), batch()[0]
    names = block.run(model=model, input_tensor=inputs)
    assert block.output == "Operations completed\n" and torch.equal(names["output"], model(inputs.to("mps")))


@case("4.12")
def shader(block):
    names = block.run()
    assert torch.equal(names["x"].cpu(), torch.full((16,), 3.14))


@case("4.13")
def best_practices(block):
    inputs, targets = batch(300)
    model = network()
    before = parameters(model)
    block.run(
        model=model, dataset=TensorDataset(inputs, targets), criterion=nn.CrossEntropyLoss(), optimizer=sgd(model)
    )
    assert not torch.equal(parameters(model), before)
    # It never clears the gradients, so what is there is the sum of three batches.
    assert all(parameter.grad is not None for parameter in model.parameters())


@case("4.14")
def stopwatch(block):
    block.shrink("size=1000", "size=100", times=1)
    block.run()
    assert [line.split(":")[0] for line in block.output.splitlines()] == ["CPU", "MPS"]


@case("4.15")
def profiler(block):
    names = block.run(torch=torch, model=network().to("mps"), input_tensor=batch()[0])
    assert "Self MPS time total" in block.output
    linear = next(event for event in names["prof"].key_averages() if event.key == "aten::linear")
    assert linear.device_time_total > 0


@case("4.16")
def fourier(block):
    names = block.run()
    assert block.output == "FFT is supported on MPS\n"
    torch.testing.assert_close(names["result"].cpu(), torch.fft.fft(names["x"].cpu()), rtol=1e-4, atol=1e-5)


@case("4.17")
def fall_back_by_hand(block):
    zeros = torch.zeros(3, device="mps")
    names = block.run(unsupported_op=torch.poisson, tensor_mps=zeros)
    assert names["result"].device.type == "mps" and torch.equal(names["result"], zeros)


@case("4.18")
def spawn(block):
    assert block.run_alone(after="print(mp.get_start_method())").stdout == "spawn\n"


@case("4.19")
def facts(block):
    block.run()
    assert block.output.endswith("MPS built: True\nMPS available: True\n")


@case("4.20")
def stopwatch_of_a_model(block):
    names = block.run(nn=nn)
    assert names["mps_time"] > 0 and "Speedup: " in block.output


# Not run: a package manager would change the environment that the tests run in.
OUTCOMES["4.1"] = "not run"
