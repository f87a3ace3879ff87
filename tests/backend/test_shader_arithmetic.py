"""What a shader's arithmetic gives to the bit: a product and a sum in one expression are one operation, as in AIR."""

import pytest
import torch

FACTOR = 1 + 2**-12  # its square is ADDEND + 2**-24, which rounds to ADDEND
ADDEND = 1 + 2**-11

EXPRESSIONS = [
    ("a * b + -c", 2**-24),
    ("-c + a * b", 2**-24),
    ("a * b - c", 2**-24),
    ("c - a * b", -(2**-24)),
    ("-(a * b) + c", -(2**-24)),
    ("(a * b) + (-c)", 2**-24),
    ("a * T(FACTOR) - c", 2**-24),
    ("product - c", 0),
    ("plus(-c, a * b)", 0),
]


def source(type_name: str, expression: str, pragma: str = "") -> str:
    return f"""
        #include <metal_stdlib>
        using namespace metal;
        typedef {type_name} T;
        constant constexpr float FACTOR = {FACTOR};
        T plus(T x, T y) {{ return x + y; }}
        kernel void k(device T* out, constant float& factor, constant float& addend) {{
            {pragma}
            const T a = T(factor), b = T(factor), c = T(addend), product = a * b;
            out[0] = {expression};
        }}"""


def first(text: str) -> float:
    out = torch.full((4,), 99.0, device="mps")
    torch.mps.compile_shader(text).k(out, FACTOR, ADDEND, threads=1)
    return out[0].item()


@pytest.mark.parametrize("type_name", ["float", "float2", "float3", "float4"])
@pytest.mark.parametrize(("expression", "expected"), EXPRESSIONS)
def test_contraction_within_an_expression(type_name, expression, expected):
    assert first(source(type_name, expression)) == expected


@pytest.mark.parametrize("type_name", ["float", "float4"])
def test_contraction_of_an_assignment(type_name):
    assert first(source(type_name, "-c; out[0] += a * b")) == 2**-24
    assert first(source(type_name, "c; out[0] -= a * b")) == -(2**-24)


@pytest.mark.parametrize("type_name", ["float", "float4"])
def test_contraction_can_be_turned_off(type_name):
    assert first(source(type_name, "a * b - c", "#pragma METAL fp contract(off)\n")) == 0


def test_functions_that_call_themselves_and_functions_by_pointer():
    """PyTorch's kernels have both."""
    library = torch.mps.compile_shader("""
        #include <metal_stdlib>
        template <typename T> T positive(T x) { return x < 0 ? positive(-x) : metal::sqrt(x); }
        template <typename T> T more(T x) { return x + 1; }
        template <typename F> float apply(F function, float x) { return function(x); }
        kernel void k(device float* x, uint i [[thread_position_in_grid]]) {
            x[i] = apply(more<float>, positive(x[i]));
        }""")
    x = torch.tensor([4.0, -9.0], device="mps")
    library.k(x)
    assert x.tolist() == [3.0, 4.0]


def test_vectors_at_any_multiple_of_their_elements():
    library = torch.mps.compile_shader("""
        kernel void swap_rows(device float* x, constant uint& length, uint i [[thread_position_in_grid]]) {
            device float4* first = reinterpret_cast<device float4*>(x + 4 * i);
            device float4* second = reinterpret_cast<device float4*>(x + length + 4 * i);
            float4 kept = *first;
            *first = *second;
            *second = kept;
        }""")
    x = torch.arange(18.0, device="mps").view(2, 9)
    library.swap_rows(x, 9, threads=2)
    assert x.tolist() == [[*range(9, 17), 8], [*range(8), 17]]
