"""anymps.to_float32: what it changes, what it keeps, and that a model loads it."""

import collections
import copy

import anymps
import torch
from torch import nn


def test_types():
    state = {
        "double": torch.tensor([0.1], dtype=torch.float64),
        "wide": torch.tensor([1j], dtype=torch.complex128),
        "half": torch.ones(1, dtype=torch.float16),
        "count": torch.ones((), dtype=torch.int64),
        "epoch": 3,
        "rate": 0.1,
        "name": "adam",
        "nothing": None,
    }
    before = dict(state)
    result = anymps.to_float32(state)
    assert result["double"].dtype == torch.float32 and result["double"].item() == torch.tensor(0.1).item()
    assert result["wide"].dtype == torch.complex64 and result["wide"].item() == 1j
    for name in ("half", "count", "epoch", "rate", "name", "nothing"):
        assert result[name] is state[name]
    assert list(result) == list(state) and all(state[name] is before[name] for name in state)
    assert state["double"].dtype == torch.float64


def test_containers_keep_their_type():
    Pair = collections.namedtuple("Pair", "left right")
    x = torch.ones(2, dtype=torch.float64)
    state = collections.OrderedDict(
        defaults=collections.defaultdict(list, a=[x, {"b": (x, 1)}]),
        pair=Pair(x, "r"),
        extremes=torch.max(torch.eye(2, dtype=torch.float64), dim=0),
        size=torch.Size([2]),
    )
    result = anymps.to_float32(state)
    assert type(result) is collections.OrderedDict
    assert type(result["defaults"]) is collections.defaultdict and result["defaults"].default_factory is list
    assert type(result["defaults"]["a"]) is list and type(result["defaults"]["a"][1]["b"]) is tuple
    assert type(result["pair"]) is Pair and result["pair"].right == "r"
    assert type(result["extremes"]) is type(state["extremes"]) and result["extremes"].values.dtype == torch.float32
    assert result["size"] is state["size"]
    assert result["pair"].left is result["defaults"]["a"][0]


def test_a_container_that_holds_itself():
    state = {"x": torch.ones(1, dtype=torch.float64)}
    state["self"] = state
    result = anymps.to_float32(state)
    assert result["self"] is result and result is not state and result["x"].dtype == torch.float32


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Embedding(5, 3)
        self.outer = nn.Linear(3, 5)
        self.outer.weight = self.inner.weight
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(self.outer(self.inner(x)))


def test_a_model_goes_to_the_device():
    wide = Tied().double()
    state = wide.state_dict()
    result = anymps.to_float32(state)
    assert result._metadata == state._metadata and result._metadata["norm"] == {"version": 2}
    model = Tied()
    model.load_state_dict(result)
    model.to("mps")
    x = torch.arange(5)
    torch.testing.assert_close(model(x.to("mps")).cpu(), wide(x).float(), rtol=1e-4, atol=1e-5)


def test_shared_memory_stays_shared():
    state = Tied().double().state_dict()
    assert state["inner.weight"] is not state["outer.weight"]
    result = anymps.to_float32(state)
    result["inner.weight"][0, 0] = 7
    assert result["outer.weight"][0, 0] == 7 and state["outer.weight"][0, 0] != 7


def test_views_of_one_storage():
    whole = torch.arange(12, dtype=torch.float64).reshape(3, 4)
    result = anymps.to_float32([whole, whole[1:, ::2].t(), torch.view_as_complex(whole.view(3, 2, 2))])
    assert torch.equal(result[0], whole.float()) and torch.equal(result[1], whole[1:, ::2].t().float())
    assert result[1].stride() == whole[1:, ::2].t().stride()
    assert result[2].dtype == torch.complex64
    result[2][1, 1] = 100 + 1j
    assert result[0][1, 2] == 100 and result[1][1, 0] == 100


def test_parameters_stay_parameters():
    state = {"a": nn.Parameter(torch.ones(1, dtype=torch.float64)), "b": torch.ones(1, dtype=torch.float64)}
    state["b"].requires_grad_()
    result = anymps.to_float32(state)
    assert type(result["a"]) is nn.Parameter and result["a"].requires_grad and result["b"].is_leaf
    assert result["b"].requires_grad


def test_other_layouts():
    sparse = torch.eye(2, dtype=torch.float64).to_sparse()
    lazy = torch.tensor([1 + 2j], dtype=torch.complex128).conj()
    nowhere = torch.empty(3, dtype=torch.float64, device="meta")
    result = anymps.to_float32([sparse, lazy, nowhere])
    assert result[0].is_sparse and result[0].dtype == torch.float32
    assert result[1].item() == 1 - 2j
    assert result[2].is_meta and result[2].dtype == torch.float32


def test_the_state_of_an_optimiser():
    model = nn.Linear(2, 1).double()
    optimiser = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2, dtype=torch.float64)).sum().backward()
    optimiser.step()
    state = anymps.to_float32(copy.deepcopy(optimiser.state_dict()))
    assert state["state"][0]["exp_avg"].dtype == torch.float32
    assert state["param_groups"] == optimiser.state_dict()["param_groups"]
