"""`anymps check` on scripts that have a fault planted, and on careful ones.

What a script finds is written in it, at the line or, where there is none, at its beginning:

    # finds: RULE               at this line
    # finds-anywhere: RULE
    # environment: NAME=VALUE   that it is run with
    # options: --mac m1-8gb     of the check
    # status: 2                 that the check ends with; otherwise 0 or 1, as it finds something or not
    # needs: MODULE             without which the test is skipped
"""

import concurrent.futures
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
import slices

HERE = pathlib.Path(__file__).parent
RULE = re.compile(r"([a-z0-9-]+) \((error|warning|note)\b.*")


@dataclasses.dataclass(frozen=True)
class Finding:
    rule: str
    file: str | None
    line: int | None


class Script:
    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.finds: set[Finding] = set()
        self.environment: dict[str, str] = {}
        self.options: list[str] = []
        self.needs: list[str] = []
        self.fails = False
        for file, source in self._sources():
            for number, line in enumerate(source.splitlines(), start=1):
                if note := re.search(r"# (finds|finds-anywhere|environment|options|status|needs): (.*)", line):
                    self._take(note[1], note[2].strip(), file, number)

    def _sources(self):
        if self.path.suffix != ".ipynb":
            return [(str(self.path), self.path.read_text())]
        cells = json.loads(self.path.read_text())["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        return [(f"{self.path}[cell {number}]", source) for number, source in enumerate(code, start=1)]

    def _take(self, key: str, value: str, file: str, line: int) -> None:
        match key:
            case "finds":
                self.finds.add(Finding(value, file, line))
            case "finds-anywhere":
                self.finds.add(Finding(value, None, None))
            case "environment":
                self.environment |= [value.split("=", 1)]
            case "options":
                self.options += shlex.split(value)
            case "needs":
                self.needs.append(value)
            case "status":
                self.fails = value == "2"

    def check(self, anymps: str, folder: pathlib.Path) -> subprocess.CompletedProcess:
        folder.mkdir()
        unwanted = ("ANYMPS", "PYTORCH_", "MTL_", "NO_COLOR")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        environment |= {"VIRTUAL_ENV": sys.prefix, "TMPDIR": str(folder), "ANYMPS_CACHE": str(folder / "cache")}
        environment["OMP_NUM_THREADS"] = "1"  # as `started` keeps all cores busy
        return subprocess.run(
            [anymps, "check", "--json", "-", *self.options, self.path],
            env=environment | self.environment,
            cwd=folder,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=300,
        )


def scripts(folder: str) -> list[Script]:
    return [Script(path) for path in sorted((HERE / folder).iterdir()) if path.suffix in (".py", ".ipynb")]


def gating(planted: list[Script]) -> list[Script]:
    """One script for each rule, of which every third one, and all notebooks."""
    seen, chosen = set(), []
    for script in planted:
        rules = {finding.rule for finding in script.finds}
        if not rules <= seen or script.path.suffix == ".ipynb":
            chosen.append(script)
            seen |= rules
    return [script for i, script in enumerate(chosen) if i % 3 == 0 or script.path.suffix == ".ipynb"]


PLANTED = scripts("planted")
CHOSEN = slices.part_of(PLANTED, slices.chosen()) if slices.chosen() else gating(PLANTED)
CLEAN = slices.part_of(scripts("clean"), slices.chosen("1/2"))
named_by_file = {"ids": lambda script: script.path.stem}


@pytest.fixture(scope="session")
def started(request, anymps, tmp_path_factory):
    """The checks of all scripts whose tests were asked for, as many at once as there are cores."""
    folder = tmp_path_factory.mktemp("checks")
    asked = [item.callspec.params["script"] for item in request.session.items if "started" in item.fixturenames]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {script: pool.submit(script.check, anymps, folder / script.path.stem) for script in asked}
        pool.shutdown(cancel_futures=True)


@pytest.fixture
def answer(started, script) -> subprocess.CompletedProcess:
    for module in script.needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    return started[script].result()


def findings_of(answer: subprocess.CompletedProcess) -> list[dict]:
    assert answer.stdout, answer.stderr
    return json.loads(answer.stdout)["findings"]


@pytest.mark.parametrize("script", CHOSEN, **named_by_file)
def test_a_planted_fault_is_found_where_it_is(script, answer):
    reported = findings_of(answer)
    found = {Finding(entry["rule"], entry["file"], entry["line"]) for entry in reported}
    assert script.finds <= found, answer.stderr
    loud = [entry for entry in reported if entry["severity"] != "note"]
    assert {Finding(entry["rule"], entry["file"], entry["line"]) for entry in loud} <= script.finds, answer.stderr
    assert answer.returncode == (2 if script.fails else 1 if loud else 0), answer.stderr


@pytest.mark.parametrize("script", CLEAN, **named_by_file)
def test_nothing_is_found_in_a_careful_script(script, answer):
    assert findings_of(answer) == []
    assert answer.returncode == 0, answer.stderr


def test_every_rule_has_a_script(anymps):
    listed = subprocess.run([anymps, "check", "--rules"], capture_output=True, text=True, check=True).stdout
    rules = {match[1] for line in listed.splitlines() if (match := RULE.fullmatch(line))}
    planted = {finding.rule for script in PLANTED for finding in script.finds}
    assert rules - planted == set()
    assert planted <= rules
