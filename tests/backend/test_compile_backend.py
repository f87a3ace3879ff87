"""torch.compile(backend="mps") is Inductor by a name that guides use."""

import pytest
import torch


def test_the_name_is_known_without_slowing_import(python):
    finished = python(
        """
import sys, torch
print([name for name in sys.modules if name.startswith(("torch._dynamo", "torch._inductor", "anymps._compile"))])
print("mps" in torch._dynamo.list_backends())
"""
    )
    assert finished.stdout == "[]\nTrue\n"


@pytest.mark.parametrize(
    ("asked", "patches"),
    [
        ({}, {}),
        ({"mode": "max-autotune-no-cudagraphs"}, {"max_autotune": True}),
        ({"options": {"epilogue_fusion": False}}, {"epilogue_fusion": False}),
    ],
)
@pytest.mark.filterwarnings("ignore:torch.compile")
def test_it_is_inductor_with_what_torch_compile_takes(monkeypatch, asked, patches):
    given = []

    def compile_fx(graph, inputs, *, config_patches, **more):
        given.append(config_patches)
        return graph.forward

    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", compile_fx)
    x = torch.ones(3, device="mps")
    try:
        assert torch.equal(torch.compile(lambda x: x + 1, backend="mps", **asked)(x), x + 1)
    finally:
        torch._dynamo.reset()
    assert len(given) == 1 and patches.items() <= given[0].items()
