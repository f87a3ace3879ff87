"""A slice of PyTorch's own kernels against torch on the CPU; and the harness itself, which must be able to fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import slices
import torch

HERE = Path(__file__).resolve().parent
FROM_SOURCE = HERE / "from-source-2.13.tsv"
BUDGET_S = 15 * 60  # about one minute; a hung kernel costs one more

sys.path.insert(0, str(HERE))

import changes  # noqa: E402 - found by the line above
import document  # noqa: E402
import harness  # noqa: E402
import names  # noqa: E402
import results  # noqa: E402
import run as runner  # noqa: E402


def run(*arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, str(HERE / "run.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=BUDGET_S, check=False)


# Of the later releases what is not the same as in 2.13.
@pytest.mark.parametrize(("release", "usual"), [("2.13", "1/40"), ("2.14", "1/200"), ("2.15", "1/300")])
def test_no_kernel_of_the_slice_is_worse_than_the_table_says(tmp_path, genuine_library_of, release, usual):
    known = [] if release == "2.13" else ["--known", genuine_library_of("2.13")]
    share = slices.chosen(usual)
    done = run(genuine_library_of(release), "--sample", share, "--table", tmp_path / "now.tsv", *known)
    assert done.returncode == 0, done.stderr[-3000:]
    before, now = results.read(results.table_of(release)), results.read(tmp_path / "now.tsv")
    assert results.worse(before, list(now.values())) == [], done.stdout[-6000:]
    unknown = [row.kernel for row in now.values() if row.kernel not in before and row.verdict not in results.GOOD]
    assert unknown == [], done.stdout[-6000:]


def test_kernels_from_source_give_the_bits_of_apples(tmp_path, genuine_libraries):
    tree = os.environ.get("ANYMPS_PYTORCH_SOURCE")
    if not tree:
        pytest.skip("ANYMPS_PYTORCH_SOURCE names no tree of PyTorch's sources")
    same = [name for name, outcome in results.read_sameness(FROM_SOURCE).items() if outcome == "same"][::400]
    only = ("--only", "|".join(same))
    apples = tmp_path / "apples.tsv"  # of this machine: the bits of another one may be others
    assert run(genuine_libraries[0], *only, "--table", apples).returncode == 0
    done = run("--source", tree, *only, "--against", apples)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert f"{len(same)} kernels are in apples.tsv too" in done.stdout, done.stdout[-6000:] + done.stderr[-3000:]


def test_what_has_the_bits_of_an_earlier_release_is_known(metal, tmp_path):
    code, other = metal.bitcode(), metal.bitcode(position="air.thread_position_in_threadgroup")
    same, changed, new = "abs_dense_castout_bfloat", "abs_dense_castout_char", "not_in_any_table"
    earlier, library = tmp_path / "torch-2.13.0-0.metallib", tmp_path / "torch-2.14.1-0.metallib"
    earlier.write_bytes(metal.container({same: code, changed: other, new: code}))
    library.write_bytes(metal.container({same: code, changed: code, new: code}))
    assert runner.known_rows(library, earlier) == [results.Row(same, "as 2.13")]
    with pytest.raises(SystemExit, match="does not say of which release it is"):
        runner.known_rows(library, library.rename(tmp_path / "some.metallib"))


def test_what_is_as_in_an_earlier_release_has_its_row(tmp_path):
    before, now = results.Row("a", "close", 2, 0.5, "d1"), results.Row("b", "equal", 1, 0.0, "d2")
    results.write(tmp_path / "outcomes-2.13.tsv", [before])
    results.write(tmp_path / "outcomes-2.14.tsv", [results.Row("a", "as 2.13"), now])
    table = tmp_path / "outcomes-2.14.tsv"
    assert results.read(table) == {"a": before, "b": now}
    assert results.read(table, resolved=False)["a"].verdict == "as 2.13"
    assert results.worse(results.read(table), [results.Row("a", "as 2.13"), now]) == []
    assert results.worse(results.read(table), [results.Row("a", "differs")]) == ["a: close -> differs ()"]


def test_a_checker_is_for_the_releases_that_it_names(monkeypatch):
    monkeypatch.setattr(harness, "_CHECKERS", [])
    older = harness.checks("k_.*", before="2.14")(lambda kernel, match: iter(()))
    newer = harness.checks("k_.*", since="2.14")(lambda kernel, match: iter(()))
    chosen = {}
    for release in ("2.13", "2.14", "2.15.0"):
        harness.set_release(release)
        chosen[release] = harness.checker_of("k_float")[0]
    harness.set_release(harness.DEFAULT_RELEASE)
    assert chosen == {"2.13": older, "2.14": newer, "2.15.0": newer}


def test_changes_between_releases():
    found = changes.changes({"a": b"1", "b": b"1", "c": b"1"}, {"a": b"1", "b": b"2", "d": b"1"})
    assert (found.new, found.gone, found.same, found.changed) == (["d"], ["c"], ["a"], ["b"])
    lines = changes.other_signatures({"add_float": ("buffer 0",)}, {"add_float": ("buffer 0", "buffer 1")})
    assert lines == ["other signature: add, 1, such as add_float", "    now buffer 1"]


def test_the_document_lists_what_the_table_has():
    assert document.document() == (HERE.parents[1] / "docs" / "genuine.md").read_text(), "document.py writes it anew"


def share(got, expected, **tolerances) -> float:
    return harness.compare(harness.Check("", torch.as_tensor(got), torch.as_tensor(expected), **tolerances))[0]


@pytest.mark.parametrize(
    ("got", "expected", "tolerances", "is_good"),
    [
        ([1.0, float("nan")], [1.0, float("nan")], {}, True),
        ([1.0, 2.0], [1.0, 2.0000002], {}, False),
        ([1.0, 2.0], [1.0, 2.0000002], {"rtol": 1e-6}, True),
        ([1.0, 2.0], [1.0, 2.001], {"rtol": 1e-6}, False),
        ([0.0], [-0.0], {}, False),
        ([0.0], [-0.0], {"rtol": 1e-6}, True),
        ([float("nan")], [1.0], {"rtol": 1e-6}, False),
        ([1.0], [float("nan")], {"rtol": 1e-6}, False),
        ([float("inf")], [3e38], {"rtol": 1e-6}, False),
        ([float("inf")], [float("inf")], {"rtol": 1e-6}, True),
        ([3], [3], {}, True),
        ([3], [4], {}, False),
        ([3], [3.0], {}, False),
        ([3.0], [3.0, 3.0], {}, False),
        ([True], [False], {}, False),
        ([1 + 2j], [1 + 2j], {}, True),
        ([1 + 2j], [1 + 3j], {"rtol": 1e-6}, False),
    ],
)
def test_compare(got, expected, tolerances, is_good):
    assert (share(got, expected, **tolerances) <= 1) == is_good


def test_all_nans_are_the_same_to_the_digest():
    positive = torch.tensor([1.0, float("nan")])
    assert harness.bits_of(positive) == harness.bits_of(torch.tensor([1.0, -float("nan")]))
    assert harness.bits_of(positive) != harness.bits_of(torch.tensor([-1.0, float("nan")]))
    assert harness.bits_of(torch.tensor([0.0])) != harness.bits_of(torch.tensor([-0.0]))


@pytest.mark.parametrize(
    ("name", "family", "is_elementwise"),
    [
        ("add_dense_scalar_lhs_cast_float_half", "add", True),
        ("exp_strided_castout_long", "exp", True),
        ("elu_backward_dense_broadcast_rhs_cast_half_half_ELUBackwardParams_half", "elu_backward", True),
        ("atan2_dense_ilp4_float_int", "atan2", True),
        ("sum_reduction_strided_float_float", "sum_reduction_strided", False),
        ("index_copy_dense_float_long_64", "index_copy_dense", False),
        ("sort_block_bfloat_tptg512_stable", "sort_block_stable", False),
        ("cat_int32_t_half_float", "cat", False),
        ("sdpa_vector_2pass_1_half_64_64_masknone_causal", "sdpa_vector_2pass_1_masknone_causal", False),
        ("prefill_attention_float16_bq32_bk16_bd64_wm4_wn1_hm1_dc0_maskbool_", "prefill_attention_mask", False),
        ("replication_pad1d_forward_bfloat", "replication_pad1d_forward", False),
        ("modified_bessel_i0_forward_inner_contiguous_castout_half", "modified_bessel_i0_forward", True),
        ("softplus_dense_ilp_half_half_SoftplusParams", "softplus", True),
        ("copy_identity_dense_float8_e4m3fn_float8_e4m3fn", "copy_identity", True),
        ("constant_pad_nd_dense_float", "constant_pad_nd_dense", False),
        ("var_reduction_flat_strided_float_float3", "var_reduction_flat_strided", False),
        ("grouped_mm_rows_half_bm16_u32", "grouped_mm_rows", False),
    ],
)
def test_names(name, family, is_elementwise):
    assert names.family_of(name) == family
    assert (names.elementwise(name) is not None) == is_elementwise


STAND_IN = """
import argparse, json, os, sys, time
sys.path.insert(0, {conformance!r})
import answers

parser = argparse.ArgumentParser()
parser.add_argument("library")
parser.add_argument("--answers", type=int)
parser.add_argument("--list", action="store_true")
parser.add_argument("--release")
options = parser.parse_args()
if options.list:
    print(json.dumps([["a_good", True], ["b_aborts", True], ["c_hangs", True], ["d_good", True], ["e_other", False]]))
    sys.exit()

def answer(name):
    if name == "b_aborts":
        os.abort()
    if name == "c_hangs":
        time.sleep(600)
    return {{"outcome": "equal", "checks": 1, "worst": 0.0, "digest": os.environ["ANYMPS_METAL_ENGINE"], "detail": ""}}

answers.serve(options.answers, answer)
"""


@pytest.fixture
def run_stand_in(tmp_path):
    worker = tmp_path / "worker.py"
    worker.write_text(STAND_IN.format(conformance=str(HERE.parent / "conformance")))
    return lambda *more: run("any.metallib", "--worker", worker, "--limit-s", 1, *more)


def test_a_crash_or_a_hang_costs_one_kernel(run_stand_in, tmp_path):
    done = run_stand_in("--engine", "first", "--table", tmp_path / "now.tsv")
    assert done.returncode == 0, done.stderr
    verdicts = {name: row.verdict for name, row in results.read(tmp_path / "now.tsv").items()}
    assert verdicts == {"a_good": "equal", "b_aborts": "crash", "c_hangs": "hang", "d_good": "equal"}
    assert "equal 2" in done.stdout
    assert "other kernels 4 of 5" in done.stdout


def test_other_outputs_and_worse_verdicts_exit_with_1(run_stand_in, tmp_path):
    table = tmp_path / "now.tsv"
    only = ("--only", "(a|d)_.*", "--against", table)
    assert run_stand_in("--engine", "first", "--table", table).returncode == 0
    assert run_stand_in("--engine", "first", *only).returncode == 0
    done = run_stand_in("--engine", "second", *only)
    assert done.returncode == 1
    assert "other output: a_good" in done.stdout
    table.write_text(table.read_text().replace("crash", "equal"))
    done = run_stand_in("--engine", "first", "--only", "b_.*", "--against", table)
    assert done.returncode == 1
    assert "worse: b_aborts: equal -> crash" in done.stdout


def test_outputs_of_another_kind_of_machine_are_not_compared(run_stand_in, tmp_path):
    table, same = tmp_path / "other.tsv", tmp_path / "same.tsv"
    only = ("--engine", "second", "--only", "(a|b)_.*", "--against", table)
    run_stand_in("--engine", "first", "--table", table)
    _, rest = table.read_text().split("\n", 1)
    table.write_text(results.HEADER + "abacus\n" + rest)
    done = run_stand_in(*only)
    assert done.returncode == 0, done.stdout
    assert "2 kernels are in other.tsv too: 0 worse, outputs are those of abacus" in done.stdout
    done = run_stand_in(*only, "--sameness", same)
    assert done.returncode != 0 and "has the outputs of abacus" in done.stderr and not same.exists()
    table.write_text(table.read_text().replace("crash", "equal"))
    assert run_stand_in(*only).returncode == 1


def test_sameness_is_of_every_kernel_of_the_earlier_table(run_stand_in, tmp_path):
    table, same = tmp_path / "now.tsv", tmp_path / "same.tsv"
    run_stand_in("--engine", "first", "--only", "[abd]_.*", "--table", table)
    run_stand_in("--engine", "first", "--only", "a_.*", "--against", table, "--sameness", same)
    not_compiled = {"b_aborts": "not compiled", "d_good": "not compiled"}
    assert results.read_sameness(same) == {"a_good": "same"} | not_compiled
    run_stand_in("--engine", "second", "--only", "a_.*", "--against", table, "--sameness", same)
    assert results.read_sameness(same) == {"a_good": "differs"} | not_compiled


def test_a_folder_without_sources_is_refused(tmp_path):
    done = run("--source", tmp_path)
    assert done.returncode != 0
    assert "is no tree of PyTorch's sources" in done.stderr


def test_a_table_from_somewhere_else_is_refused(tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("nothing\n")
    done = run("any.metallib", "--against", other)
    assert done.returncode != 0
    assert "is not a table of kernels" in done.stderr
