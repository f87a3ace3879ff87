"""Notebooks without Jupyter: python -m anymps._notebook."""

import json
import os
import subprocess
import sys

import pytest


@pytest.fixture
def run(tmp_path):
    """Runs cells as a notebook, in a folder of its own."""

    def run_cells(*cells, arguments=(), **variables) -> subprocess.CompletedProcess:
        markdown = {"cell_type": "markdown", "metadata": {}, "source": "raise AssertionError"}
        code = [{"cell_type": "code", "metadata": {}, "source": cell, "outputs": []} for cell in cells]
        (tmp_path / "study.ipynb").write_text(json.dumps({"cells": [markdown, *code], "metadata": {}, "nbformat": 4}))
        return subprocess.run(
            [sys.executable, "-m", "anymps._notebook", "study.ipynb", *arguments],
            env=os.environ | variables,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run_cells


def test_cells_share_a_namespace_and_show_their_last_expression(run):
    answer = run("x = 6", ["y = 7\n", "x * y"], "'shown'", "None", "x * y;", "In[2], dict(Out), _, __, ___, _2")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == [
        "42",
        "'shown'",
        "('y = 7\\nx * y', {2: 42, 3: 'shown'}, 'shown', 42, '', 42)",
    ]


def test_empty_cells_have_no_number(run):
    answer = run("", "  \n", "len(In)")
    assert answer.stdout == "2\n"


def test_the_program_is_main(run, tmp_path):
    (tmp_path / "beside.py").write_text("value = 3\n")
    cells = (
        "import beside, pickle, sys\nclass Sample: pass",
        "type(pickle.loads(pickle.dumps(Sample()))) is Sample, __name__, sys.argv, beside.value",
    )
    answer = run(*cells, arguments=("--epochs", "3"))
    assert answer.stdout == "(True, '__main__', ['study.ipynb', '--epochs', '3'], 3)\n", answer.stderr


def test_an_exception_names_cell_and_line(run):
    answer = run("def half(x):\n    return x / 0\n", "", "1\nhalf(3)", "print('not reached')")
    assert answer.returncode == 1
    assert answer.stdout == ""
    lines = answer.stderr.splitlines()
    assert lines[:5] == [
        "Traceback (most recent call last):",
        '  File "study.ipynb[cell 2]", line 2, in <module>',
        "    half(3)",
        '  File "study.ipynb[cell 1]", line 2, in half',
        "    return x / 0",
    ]
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_a_wrong_line_names_cell_and_line(run):
    answer = run("x = 1", "y = 2\nx = = 3")
    assert answer.returncode == 1
    assert answer.stderr.splitlines() == [
        '  File "study.ipynb[cell 2]", line 2',
        "    x = = 3",
        "        ^",
        "SyntaxError: invalid syntax",
    ]


def test_a_program_may_end_itself(run):
    assert run("import sys", "sys.exit(7)", "print('not reached')").returncode == 7


def test_magics_are_run_or_left_out(run):
    answer = run(
        "%matplotlib inline\nx = 1",
        "%%time\nx += 1\nx",
        "%timeit -n 10 -r 3 x\nif x:\n    !pip install it's\n    %time x += 1\nx",
        "found = !ls\nfound",
        "%whatever this is\nx?",
        "%%bash\necho lost",
        'text = """\n%d percent\n! so it is\n"""\n(7\n% 4, text)',
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines() == ["2", "3", "[]", "(3, '\\n%d percent\\n! so it is\\n')"]
    assert answer.stderr.splitlines() == [
        "anymps: study.ipynb[cell 3]:3: skipped !pip install it's",
        "anymps: study.ipynb[cell 4]:1: skipped found = !ls",
        "anymps: study.ipynb[cell 5]:1: skipped %whatever this is",
        "anymps: study.ipynb[cell 5]:2: skipped x?",
        "anymps: study.ipynb[cell 6]:1: skipped the cell of %%bash",
    ]


def test_magics_keep_the_lines_numbers(run):
    answer = run("%%time\n!ls\n%matplotlib inline\nraise ValueError")
    assert 'File "study.ipynb[cell 1]", line 4' in answer.stderr


@pytest.mark.parametrize("cell", ["await something()", "async with lock:\n    pass", "[x async for x in y]"])
def test_await_is_refused_in_words(run, cell):
    answer = run("x = 1", cell)
    assert answer.returncode == 1
    assert answer.stderr.startswith("anymps: study.ipynb[cell 2]:1: top-level await is not supported; put it into")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no JSON", "it is no notebook of format 4"),
        ('{"worksheets": []}', "it is no notebook of format 4"),
        ("[]", "it is no notebook of format 4"),
        ('{"cells": [], "metadata": {"language_info": {"name": "R"}}}', "its language is R"),
        (None, "No such file or directory"),
    ],
)
def test_what_is_no_notebook_is_refused(tmp_path, text, reason):
    path = tmp_path / "other.ipynb"
    if text is not None:
        path.write_text(text)
    answer = subprocess.run([sys.executable, "-m", "anymps._notebook", path], capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (2, f"anymps: {path}: {reason}\n")


RECORDED = """
from anymps import _C

told = []
_C.note_finding_at = lambda *finding: told.append(finding)
import atexit
atexit.register(lambda: print(told))
"""


def test_outputs_that_keep_device_memory_are_told(run):
    cells = (
        "import torch" + RECORDED,
        "x = torch.zeros(256, device='mps')\nx",
        "[{'both': (x, x[:2])}, torch.ones(4)]",
        "torch.ones(4)",
        "endless = []\nendless.append(endless)\nendless",
    )
    answer = run(*cells, ANYMPS_CHECK="1")
    assert answer.returncode == 0, answer.stderr
    assert eval(answer.stdout.splitlines()[-1]) == [
        ("study.ipynb[cell 2]:2", "notebook-out-keeps", "Out[2]", 1024),
        ("study.ipynb[cell 3]:1", "notebook-out-keeps", "Out[3]", 1024),
    ]
    assert run(*cells).stdout.splitlines()[-1] == "[]"


def test_an_output_that_was_cleared_is_still_kept_by_its_other_names(run):
    cells = ("import torch" + RECORDED, "torch.zeros(8, device='mps')", "'later'", "Out.clear()")
    answer = run(*cells, ANYMPS_CHECK="1")
    assert eval(answer.stdout.splitlines()[-1]) == [
        ("study.ipynb[cell 2]:1", "notebook-out-keeps", "__", 32),
    ]


def test_an_output_of_a_failed_notebook_is_told(run):
    cells = ("import torch" + RECORDED, "torch.zeros(8, device='mps')", "raise ValueError")
    answer = run(*cells, ANYMPS_CHECK="1")
    assert answer.returncode == 1
    assert "Out[2]" in answer.stdout.splitlines()[-1]
