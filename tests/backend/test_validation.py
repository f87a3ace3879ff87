"""The sanitiser for Metal kernels, from Python."""

import importlib
import os
import pathlib

import anymps
import pytest
import torch

GENUINE = pathlib.Path(__file__).parents[1] / "genuine"


@pytest.fixture
def library(library_bytes):
    return torch.mps.load_metallib(library_bytes)


def test_a_launch_that_is_validated_reports_what_is_wrong(library, capfd):
    x = torch.zeros(10, device="mps")
    scale = library.scale
    with anymps.validating() as reports:
        scale(x, 2.5, threads=12, group_size=4)
    assert x.tolist() == [2.5] * 10
    [report] = reports
    text = report.pop("text")
    assert report == {
        "fault": "out of bounds",
        "kernel": "scale",
        "access": "store",
        "argument": "out",
        "binding": 0,
        "thread": (10, 0, 0),
        "threadgroup": (2, 0, 0),
        "offset": 40,
        "size": 4,
        "site": 1,
        "place": None,
        "count": 2,
    }
    assert capfd.readouterr().err == text
    assert anymps.validation_reports() == []


def test_nothing_is_reported_of_a_launch_that_is_right_or_not_validated(library):
    x = torch.zeros(10, device="mps")
    with anymps.validating() as reports:
        library.scale(x, 1.0)
    assert reports == []
    assert x.tolist() == [1] * 10
    library.scale(torch.zeros(64, device="mps")[:10], 1.0, threads=12)
    assert anymps.validation_reports() == []


def test_the_environment_asks_for_all_launches(python, library_bytes, tmp_path):
    path = tmp_path / "kernels.metallib"
    path.write_bytes(library_bytes)
    code = f"""
import anymps, torch
x = torch.zeros(10, device="mps")
for _ in range(3):
    torch.mps.load_metallib({os.fspath(path)!r}).scale(x, 1.0, threads=11)
print([(r["fault"], r["count"]) for r in anymps.validation_reports()])
"""
    finished = python(code, ANYMPS_VALIDATE="1")
    assert finished.stdout == "[('out of bounds', 3)]\n"
    assert finished.stderr.count("anymps validation: kernel scale: out of bounds\n") == 1
    assert python(code).stdout == "[]\n"


def test_genuine_kernels_are_right(genuine_libraries, monkeypatch):
    monkeypatch.syspath_prepend(GENUINE)
    harness, validate = importlib.import_module("harness"), importlib.import_module("validate")
    harness.load_families()
    library = torch.mps.load_metallib(genuine_libraries[0])
    names = validate.sample(library, each=1)
    assert names
    assert validate.unknown_reports(library, names) == []
