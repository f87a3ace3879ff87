"""Runs the tests of one class of a unittest file, one per line of stdin. Started by run_test_mps.py."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import traceback
import unittest
from pathlib import Path

import answers
import as_on_a_mac
import generic_on_mps
import outcomes
import right_numbers
import shader_watch


class OneResult(unittest.TestResult):
    """Keeps the last test's outcome as one word and one line. The worst word wins when there are subtests."""

    def __init__(self):
        super().__init__()
        self.outcome, self.detail = "passed", ""

    def addError(self, test, err):
        self._set("error", err)

    def addFailure(self, test, err):
        self._set("failed", err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._set("failed" if issubclass(err[0], test.failureException) else "error", err)

    def addSkip(self, test, reason):
        if self.outcome == "passed":  # a skipped subtest does not hide a failed one
            self.outcome, self.detail = "skipped", reason

    def addExpectedFailure(self, test, err):
        self.outcome, self.detail = "expected-failure", one_line(err)

    def addUnexpectedSuccess(self, test):
        self.outcome, self.detail = "unexpected-success", ""

    def _set(self, outcome, err):
        self.outcome, self.detail = outcome, one_line(err)


def one_line(err) -> str:
    """The exception, and the innermost line of the test file: enough to group failures by cause."""
    kind, value, trace = err
    where = ""
    for frame in traceback.extract_tb(trace):
        if Path(frame.filename).name == TEST_FILE:
            where = f" [line {frame.lineno}]"
    text = " ".join(str(value).split("To execute this test, run")[0].split())
    return f"{kind.__name__}: {text[:400]}{where}"


TEST_FILE = ""


def load(path: Path):
    global TEST_FILE
    TEST_FILE = path.name
    sys.argv = [str(path)]  # the file's framework parses the command line at import
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def classes(module) -> dict[str, type]:
    """In the file's order. Names imported from elsewhere are not the file's tests."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__
    }


def is_serial(cls: type, test: str) -> bool:
    """PyTorch's CI runs tests marked so in a process where no others have run, and they count on it."""
    return any(mark.name == "serial" for mark in getattr(getattr(cls, test), "pytestmark", []))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("test_class", nargs="?")
    parser.add_argument("--answers", type=int, help="file descriptor for the answers")
    parser.add_argument("--allow-mps", action="store_true", help="make device-generic classes for mps too")
    parser.add_argument("--list", action="store_true", help="print the tests of all classes as JSON and leave")
    options = parser.parse_args()

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tensors are small; more threads only disturb the other job
    with contextlib.suppress(ImportError):  # a file that needs no torch (the runner's own test)
        as_on_a_mac.pretend()
        if options.allow_mps:
            generic_on_mps.install()
    module = load(options.file.resolve())
    shader_watch.install()
    if options.list:
        loader = unittest.TestLoader()
        tests = {name: loader.getTestCaseNames(cls) for name, cls in classes(module).items()}
        serial = [f"{c}.{t}" for c, names in tests.items() for t in names if is_serial(classes(module)[c], t)]
        print(json.dumps({"tests": tests, "serial": serial}))
        return

    test_class = classes(module)[options.test_class]

    def answer(item: str) -> dict:
        result = OneResult()
        shader_watch.reset()
        unittest.TestSuite([test_class(item.split(".")[1])]).run(result)
        shader = shader_watch.used() or ".metallib" in result.detail  # a precompiled library, missing beside the file
        # The tests of Inductor expect failures by a context manager of unittest's.
        succeeded = result.outcome == "unexpected-success" or "AssertionError: Exception not raised" in result.detail
        if succeeded and right_numbers.wrong_on_a_mac(item.split(".")[1]):
            result.outcome = outcomes.RIGHT_WHERE_A_MAC_IS_WRONG
        return {"outcome": result.outcome, "detail": result.detail, "shader": shader}

    answers.serve(options.answers, answer)


if __name__ == "__main__":
    main()
