"""The runner, on a file made here that does everything a test can do to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import slices

HERE = Path(__file__).resolve().parent
RUNNER = HERE / "run_test_mps.py"

NAUGHTY = """
import os, sys, time, unittest

class First(unittest.TestCase):
    def test_a_passes(self): print("noise on stdout")
    def test_b_fails(self): self.assertEqual(1, 2)
    def test_c_errors(self): raise ValueError("oops\\twith a tab")
    def test_d_aborts(self): os.abort()
    def test_e_after_the_abort(self): pass
    def test_f_hangs(self): time.sleep(600)
    def test_g_after_the_hang(self): pass
    def test_h_skipped(self): self.skipTest("no such machine")
    @unittest.expectedFailure
    def test_i_expected_failure(self): self.fail()
    @unittest.expectedFailure
    def test_j_unexpected_success(self): pass
    def test_k_subtests(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)
    def test_l_exits(self): os._exit(3)
    def test_m_reads_stdin(self): sys.stdin.read()
    def test_n_is_greedy(self):
        block = bytearray(1200 << 20)
        for i in range(0, len(block), 4096): block[i] = 1
        time.sleep(600)

class Second(unittest.TestCase):
    def test_a_passes(self): pass
"""

EXPECTED = {
    "First.test_a_passes": "passed",
    "First.test_b_fails": "failed",
    "First.test_c_errors": "error",
    "First.test_d_aborts": "crash",
    "First.test_e_after_the_abort": "passed",
    "First.test_f_hangs": "timeout",
    "First.test_g_after_the_hang": "passed",
    "First.test_h_skipped": "skipped",
    "First.test_i_expected_failure": "expected-failure",
    "First.test_j_unexpected_success": "unexpected-success",
    "First.test_k_subtests": "failed",
    "First.test_l_exits": "crash",
    "First.test_m_reads_stdin": "passed",
    "First.test_n_is_greedy": "memory",
    "Second.test_a_passes": "passed",
}


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(RUNNER), *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False
    )


def rows(path: Path) -> dict[str, list[str]]:
    lines = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return {line[0]: line[1:] for line in lines}


@pytest.fixture(scope="module")
def naughty(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("naughty") / "test_naughty.py"
    file.write_text(NAUGHTY)
    return file


@pytest.fixture(scope="module")
def first_run(naughty):
    out = naughty.with_name("first.tsv")
    done = run(naughty, "--limit-s", 5, "--limit-gib", 1, "--jobs", 2, "--table", out)
    assert done.returncode == 0, done.stderr
    return done, out


def test_every_way_to_end_is_told_apart(first_run):
    _, out = first_run
    assert {name: row[0] for name, row in rows(out).items()} == EXPECTED


def test_details_say_what_happened(first_run):
    _, out = first_run
    found = rows(out)
    assert "SIGABRT" in found["First.test_d_aborts"][2]
    assert "exit status 3" in found["First.test_l_exits"][2]
    assert found["First.test_h_skipped"][2] == "no such machine"
    assert "ValueError: oops with a tab" in found["First.test_c_errors"][2]


def test_table_per_class_and_summary(first_run):
    done, _ = first_run
    good = sum(outcome in ("passed", "skipped", "expected-failure") for outcome in EXPECTED.values())
    assert f"{good} of {len(EXPECTED)} tests" in done.stdout
    assert "skipped 1: no such machine" in done.stdout


@pytest.mark.sliced
def test_against_the_same_outcomes_is_no_change(naughty, first_run):
    _, out = first_run
    done = run(naughty, "--class", "Second", "--against", out)
    assert done.returncode == 0
    assert "0 worse, 0 otherwise changed" in done.stdout


@pytest.mark.sliced
def test_against_better_outcomes_exits_with_1(naughty, first_run):
    _, out = first_run
    better = out.with_name("better.tsv")
    better.write_text(out.read_text().replace("First.test_b_fails\tfailed", "First.test_b_fails\tpassed"))
    done = run(naughty, "--tests", "test_b_fails", "--against", better)
    assert done.returncode == 1
    assert "worse: First.test_b_fails: passed -> failed" in done.stdout


@pytest.mark.sliced
def test_slices_cover_everything_once(naughty, tmp_path):
    seen = []
    for k in (1, 2):
        out = tmp_path / f"{k}.tsv"
        run(naughty, "--tests", "passes|fails|skipped|after", "--slice", f"{k}/2", "--table", out)
        seen += rows(out)
    assert len(seen) == len(set(seen)) == 6


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.py"], "is not a file"),
        (["FILE", "--class", "Third"], "no class Third"),
        (["FILE", "--slice", "3/2"], "--slice"),
        (["FILE", "--against", "FILE"], "is not a table of outcomes"),
    ],
)
def test_bad_arguments_are_named(naughty, arguments, says):
    done = run(*[naughty if a == "FILE" else a for a in arguments])
    assert done.returncode != 0
    assert says in done.stderr


def test_a_file_that_does_not_import_is_named(tmp_path):
    broken = tmp_path / "test_broken.py"
    broken.write_text("import nothing_of_that_name\n")
    done = run(broken)
    assert done.returncode != 0
    assert "cannot load" in done.stderr
    assert "nothing_of_that_name" in done.stderr


GENERIC = """
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase

class Generic(TestCase):
    def test_device(self, device): self.assertEqual(device.split(":")[0], self.device_type)

class CpuAlone(TestCase):
    def test_device(self, device): pass

instantiate_device_type_tests(Generic, globals())
instantiate_device_type_tests(CpuAlone, globals(), only_for=("cpu",))
"""


@pytest.mark.parametrize("flags", [(), ("--allow-mps",)] if slices.whole() else [("--allow-mps",)])
def test_generic_classes_are_made_for_mps_where_asked(tmp_path, flags):
    file, table = tmp_path / "generic.py", tmp_path / "table.tsv"
    file.write_text(GENERIC)
    done = run(file, "--table", table, *flags)
    assert done.returncode == 0, done.stderr
    made = {"CpuAloneCPU.test_device_cpu", "GenericCPU.test_device_cpu"}
    assert set(rows(table)) == made | ({"GenericMPS.test_device_mps"} if flags else set())
