"""Numbers that are passed to a Metal kernel: whether they arrive as what it declares."""

import warnings

import anymps
import pytest
import torch

SOURCE = """
#include <metal_stdlib>
using namespace metal;
struct Pair { float a; float b; };
kernel void NAME(device float* out, constant TYPE& value, uint i [[thread_position_in_grid]]) {
  out[i] = READ;
}
"""


def kernel(name, declared, read="float(value)"):
    source = SOURCE.replace("NAME", name).replace("TYPE", declared).replace("READ", read)
    return getattr(torch.mps.compile_shader(source), name)


@pytest.mark.parametrize(
    ("declared", "value", "remedy"),
    [
        ("float", 2, "pass a float"),
        ("half", 1.5, 'pass arg_casts={1: "fp16"}'),
        ("bfloat", 1.5, 'pass arg_casts={1: "bf16"}'),
        ("int", 2.0, 'pass arg_casts={1: "int32"}'),
        ("uint3", (1, 2, 3), 'pass arg_casts={1: "int32"}'),
        ("float2", (1, 2), "pass floats"),
        ("short", (1, 2), 'pass arg_casts={1: "int16"}'),
    ],
)
def test_what_arrives_as_something_else(declared, value, remedy):
    name = f"wrong_{declared}"
    launch = kernel(name, declared, "value[1]" if declared[-1].isdigit() else "float(value)")
    x = torch.zeros(1, device="mps")
    with pytest.warns(
        UserWarning, match=f"kernel `{name}`: argument `value` .buffer 1. is declared as {declared},"
    ) as told:
        launch(x, value)
    assert remedy in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(x, value)  # told once
    with anymps.validating(), pytest.raises(TypeError, match="arrives as"):
        launch(x, value)


@pytest.mark.parametrize(
    ("declared", "read", "value", "casts", "expected"),
    [
        ("uint", "value", 7, None, 7),
        ("long", "float(value)", 7, None, 7),
        ("bool", "value", 1, None, 1),
        ("float", "value", 2.5, None, 2.5),
        ("float2", "value.y", (1.0, 2.5), None, 2.5),
        ("uint3", "value.z", (1, 2, 3), "int32", 3),
        ("half", "value", 1.5, "fp16", 1.5),
        ("Pair", "value.b", (1.0, 4.0), None, 4),
    ],
)
def test_what_arrives_as_declared(declared, read, value, casts, expected):
    x = torch.zeros(1, device="mps")
    with warnings.catch_warnings(), anymps.validating():
        warnings.simplefilter("error")
        kernel(f"right_{declared}", declared, read)(x, value, arg_casts=casts)
    assert x.item() == expected
