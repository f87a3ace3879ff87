"""How failures of other people's suites are told apart. The suites themselves: `make test-clients`."""

import re

import pytest
import run

REFUSAL = "NotImplementedError: The operator 'aten::x' is not currently implemented for the MPS device. If you want"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (REFUSAL, "refused"),
        (
            "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64",
            "refused",
        ),
        (
            "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file",
            "download",
        ),
        ("ModuleNotFoundError: No module named 'onnx'", "package"),
        ("AssertionError: Tensor-likes are not close!", "ours"),
    ],
)
def test_a_failure_is_told_apart(text, outcome):
    assert run.outcome_of("kornia", "tests.test_x::test_y", f"E   {text}", []) == outcome
    known = [run.Known("kornia", re.compile("test_y"), re.compile(r"x\.py:\d+: "))]
    report = f"    on MPS device\nE   {text}\nkornia/x.py:7: SomeError"
    assert run.outcome_of("kornia", "tests.test_x::test_y", report, known) == "theirs"
    assert run.outcome_of("kornia", "tests.test_x::test_y", report.replace("x.py", "y.py"), known) == outcome
    assert run.outcome_of("kornia", "tests.test_x::test_z", report, known) == outcome
    assert run.outcome_of("timm", "tests.test_x::test_y", report, known) == outcome


def test_a_suite_is_run_and_counted(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "test_it.py").write_text(
        "import os\nimport pytest\ndef test_good(): assert os.environ['LIB_DEVICE'] == 'mps'\n"
        "@pytest.mark.skip\ndef test_skipped(): pass\n"
        f"def test_refused(): raise NotImplementedError({REFUSAL!r})\ndef test_bad(): assert 1 == 2\n"
    )
    result = run.run(run.Client("lib", "lib", ".", ".", "test_it.py", "LIB_DEVICE=mps"), tmp_path, 60, [], tmp_path)
    assert dict(result.counts) == {"passed": 1, "skipped": 1, "refused": 1, "ours": 1}
    assert (tmp_path / "lib.xml").exists()
    assert "| lib | 1 | 1 | 1 | 0 | 0 | 0 | 1 |" in run.table_of([result])


def test_every_row_of_the_tables_can_be_read():
    assert len(run.clients()) >= 9
    run.known_mistakes()
