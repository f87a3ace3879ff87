"""pytest on a simulated Mac: `pytest --mps-mac m2-8gb` ends with what `anymps check` finds in the tests' run.

Without one of its options it does nothing. With one it sets, before anything imports torch, the environment that
`anymps check --stop-at-refusal` gives to its child: what a Mac refuses is refused, so that results are a Mac's.
Processes of pytest-xdist inherit it, and the one that started them reports. A test allows a rule with
`@pytest.mark.mps_allow("rule")`; what it expects (`pytest.raises`) is no finding in the first place.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

_MARKUP = {"error": {"red": True}, "warning": {"yellow": True}, "note": {}}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("anymps", "PyTorch's mps device on a simulated Mac (anymps)")
    group.addoption(
        "--mps-mac",
        metavar="NAME",
        help="Simulate this Mac, such as m2-8gb, and check the run (anymps macs lists them).",
    )
    group.addoption(
        "--mps-as-torch", metavar="RELEASE", help="Refuse what this release of PyTorch lacks on MPS, and check the run."
    )
    group.addoption(
        "--mps-fail-on",
        metavar="LEVEL",
        choices=["error", "warning", "note", "never"],
        help="Check the run; findings of this severity or above (error, warning, note) fail it. Otherwise none does.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "mps_allow(rule, ...): findings of these rules of anymps check are no findings here"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Fixtures of the test are allowed what the test is."""
    rules = [str(rule) for mark in item.iter_markers("mps_allow") for rule in mark.args]
    if not rules or "ANYMPS_CHECK" not in os.environ:
        return (yield)
    # It loads the device, without which there is nothing to ask.
    import torch  # noqa: F401

    from anymps import _C

    _C.allow_rules(rules)
    try:
        return (yield)
    finally:
        _C.allow_rules([])


def _asked(options) -> bool:
    return any((options.mps_mac, options.mps_as_torch, options.mps_fail_on))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """The last moment before the conftest files, which import torch."""
    options = early_config.known_args_namespace
    # In a run that is recorded already, as in the workers of pytest-xdist, who began it reports.
    if not _asked(options) or "ANYMPS_RUN" in os.environ:
        return
    if "torch" in sys.modules:
        mac = f" --mac {options.mps_mac}" if options.mps_mac else ""
        raise pytest.UsageError(
            "--mps-...: torch has been imported already, by a plug-in or by the program that called pytest, and its "
            f"device is chosen then. Use `anymps check{mac} -- {sys.executable} -m pytest ...` instead"
        )
    if problem := _problem_with(options):
        raise pytest.UsageError(problem)
    early_config.pluginmanager.register(_Run(options), "anymps-run")


def _problem_with(options) -> str:
    """Told now: a process that cannot simulate its Mac ends in `import torch`, where pytest has its output."""
    command = ["--quiet", "--fail-on", "never"]
    for option, value in (("--mac", options.mps_mac), ("--as-torch", options.mps_as_torch)):
        if value:
            command += [option, value]
    try:
        answer = _check(*command, "--", "true")
    except (OSError, RuntimeError) as error:
        return str(error)
    return answer.stderr.strip() if answer.returncode != 0 else ""


def _check(*words: str) -> subprocess.CompletedProcess:
    from anymps._executable import executable

    return subprocess.run([executable(), "check", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)


class _Run:
    def __init__(self, options) -> None:
        self.fail_on = options.mps_fail_on or "never"
        self.folder = tempfile.mkdtemp(prefix="anymps-pytest-")
        variables = {
            "ANYMPS_RUN": self.folder,
            "ANYMPS_CHECK": "stop",
            "ANYMPS_REQUIRED": "1",
            "ANYMPS_MAC": options.mps_mac,
            "ANYMPS_AS_TORCH": options.mps_as_torch,
        }
        os.environ |= {name: value for name, value in variables.items() if value}
        self.report: dict | None = None
        self.problem = ""

    def _ask(self) -> None:
        if not os.listdir(self.folder):
            self.problem = "nothing was checked: no test imported torch"
            return
        answer = _check("--from", self.folder, "--json", "-", "--quiet", "--fail-on", self.fail_on)
        try:
            self.report = json.loads(answer.stdout)
        except ValueError:
            self.problem = f"anymps check ended with status {answer.returncode}: {answer.stderr.strip()}"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._ask()
        failed = self.report["failed"] if self.report is not None else self.fail_on != "never"
        if failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("mps findings")
        if self.report is None:
            terminalreporter.line(self.problem, red=True)
            return
        for finding in self.report["findings"]:
            terminalreporter.line(_line(finding), **_MARKUP[finding["severity"]])
        terminalreporter.line(self.report["verdict"])

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _line(finding: dict) -> str:
    place = "" if finding["file"] is None else _short(finding["file"]) + ":"
    if finding["line"] is not None:
        place += f"{finding['line']}:"
    about = ": ".join(filter(None, (finding["rule"], finding["subject"], finding["detail"])))
    times = f" ({finding['count']} times)" if finding["count"] > 1 else ""
    return " ".join(filter(None, (place, f"{finding['severity']}:", about))) + times


def _short(file: str) -> str:
    below = os.getcwd() + os.sep
    return file.removeprefix(below)
