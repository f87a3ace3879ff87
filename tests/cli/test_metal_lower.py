"""`anymps metal lower`: what each pass does to a kernel."""

import re
from pathlib import Path

import pytest

TABLE = Path(__file__).parents[2] / "src/metal/lower/support/passes.def"
NAMES = re.findall(r'^LOWERING_PASS\(k\w+, "([a-z-]+)"', TABLE.read_text(), re.MULTILINE)

SOURCE = """#include <metal_stdlib>
using namespace metal;
kernel void scale(device float* out, constant float& factor, uint i [[thread_position_in_grid]]) {
  out[i] *= sin(factor);
}
kernel void turn(device float* out, threadgroup float* shared [[threadgroup(0)]],
                 uint i [[thread_position_in_threadgroup]]) {
  shared[i] = out[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = shared[31 - i];
}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "k.metal"
    path.write_text(SOURCE)
    return path


def dumps_of(text):
    return re.findall(r"^; \*\*\* IR after ([a-z-]+) \*\*\*$", text, re.MULTILINE)


def test_without_options_it_is_what_is_compiled(call, source):
    answer = call("metal", "lower", source, "scale")
    assert answer.returncode == 0, answer.stderr
    assert "define void @run(" in answer.stdout
    assert "air.sin" not in answer.stdout


def test_a_library_is_lowered_too(call, source, tmp_path):
    assert call("metal", "compile", source).returncode == 0
    library = call("metal", "lower", tmp_path / "k.metallib", "scale")
    assert library.stdout == call("metal", "lower", source, "scale").stdout


def test_it_stops_after_a_pass(call, source):
    before = call("metal", "lower", source, "scale", "--stop-after", "propagate-arguments").stdout
    assert re.search(r"^declare .*@air\.\w*sin", before, re.MULTILINE)
    assert "define void @own.scale(" in before
    after = call("metal", "lower", source, "scale", "--stop-after", "math").stdout
    assert not re.search(r"^declare .*@air\.\w*sin", after, re.MULTILINE)
    assert "define void @own.scale(" in after  # not a threadgroup's function yet


@pytest.mark.parametrize(
    ("kernel", "options", "comes_to", "does_not"),
    [
        ("scale", [], {"work-item-loop", "optimise"}, {"coroutines", "vectorize", "sanitiser"}),
        ("turn", [], {"reconvergence-order", "coroutines", "split-coroutines"}, {"work-item-loop", "vectorize"}),
        ("turn", ["--simd"], {"canonicalize", "vectorize", "keep-interleaved"}, {"work-item-loop", "coroutines"}),
        ("scale", ["--coroutines"], {"coroutines"}, {"work-item-loop"}),
        ("turn", ["--validate"], {"coroutines", "sanitiser"}, {"merge-switch-cases"}),
    ],
)
def test_all_passes_are_printed_in_their_order(call, source, kernel, options, comes_to, does_not):
    answer = call("metal", "lower", source, kernel, "--print-after", "all", *options)
    assert answer.returncode == 0, answer.stderr
    passes = dumps_of(answer.stdout)
    assert comes_to <= set(passes) <= set(NAMES)
    assert not does_not & set(passes)
    # A pass that runs others is printed behind them.
    alone = [name for name in passes if name != "vectorize"]
    assert alone == sorted(alone, key=NAMES.index)


def test_one_pass_is_printed(call, source):
    text = call("metal", "lower", source, "turn", "--print-after", "reconvergence-order").stdout
    assert dumps_of(text) == ["reconvergence-order"]
    assert text.count("; ModuleID") == 1


def test_times_are_of_the_passes_that_ran(call, source):
    text = call("metal", "lower", source, "scale", "--time-passes").stdout
    rows = re.findall(r"^; +([\d.]+) +([\d.]+)%  ([a-z-]+)$", text, re.MULTILINE)
    assert rows[-1][2] == "all"
    assert [name for _, _, name in rows[:-1]] == [
        name
        for name in NAMES
        if name in dumps_of(call("metal", "lower", source, "scale", "--print-after", "all").stdout)
    ]
    assert sum(float(time) for time, _, _ in rows[:-1]) == pytest.approx(float(rows[-1][0]), abs=0.1)


def test_a_pass_that_is_not_there_is_told(call, source):
    answer = call("metal", "lower", source, "scale", "--stop-after", "flaten")
    assert answer.returncode == 2
    assert "--stop-after: there is no pass flaten; the nearest is flatten" in answer.stderr
    answer = call("metal", "lower", source, "scale", "--print-after", "coroutines")
    assert answer.returncode == 2
    assert "scale does not come to the pass coroutines" in answer.stderr


def test_help_lists_the_passes(call):
    text = call("metal", "lower", "--help").stdout
    assert len(NAMES) > 30
    for name in NAMES:
        assert re.search(rf"^  {name} +\S", text, re.MULTILINE), name
