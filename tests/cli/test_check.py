"""`anymps check`: options, status and reports, on traces that are written here."""

import json
import os
import pathlib
import re
import xml.etree.ElementTree

import pytest
import trace_file
from trace_file import TraceFile

DOCUMENTATION = pathlib.Path(__file__).parents[2] / "docs" / "check.md"
SOURCE = """import time
start = time.time()
y = model(x)
print(time.time() - start)
loss.item()
"""


@pytest.fixture
def traced(tmp_path):
    """A folder with the trace of a program that did a little of everything."""
    script = tmp_path / "train.py"
    script.write_text(SOURCE)
    folder = tmp_path / "traces"
    folder.mkdir()
    trace = TraceFile()
    trace.tally(trace_file.FINDING, "refused-operator\taten::_linalg_eigh", f"{script}:3", 4)
    trace.tally(trace_file.FINDING, "repeated-copy", f"{script}:3", 30, 3 << 20)
    trace.tally(trace_file.FINDING, "known-mac-failure\taten::<x> & float16", f"{script}:3")
    trace.tally(trace_file.FINDING, "environment-unread\tPYTORCH_MPS_LOG_LEVEL")
    trace.tally(trace_file.SYNC, "item", f"{script}:5", 40, 2_000_000)
    trace.tally(trace_file.WORK, "work", f"{script}:3", 40)
    trace.tally(trace_file.WORK, "wait", f"{script}:5", 40)
    trace.write(folder)
    return folder


def rules_in(report: dict) -> dict[str, dict]:
    return {finding["rule"]: finding for finding in report["findings"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to check"),
        (["no-such-program"], "cannot start no-such-program"),
        (["--as-torch", "1.0", "true"], "no release of PyTorch `1.0`"),
        (["--mac", "m9-1tb", "true"], "m9-1tb"),
        (["--json", "missing/out.json", "true"], "cannot write missing/out.json"),
        (["--json", "-", "--html", "-", "true"], "only one report can go to standard output"),
        (["--from", "."], "there is no trace in ."),
        (["--from", "missing"], "there is no trace in missing"),
        (["--from", ".", "true"], "takes no command"),
        (["--fail-on", "panic", "true"], "--fail-on"),
        (["--keep", ".", "true"], "not empty"),
    ],
)
def test_bad_input_is_one_line_and_status_2(call, words, said):
    answer = call("check", *words)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert answer.stdout == ""


def test_the_child_learns_that_it_is_checked(call):
    script = "echo $ANYMPS_CHECK $ANYMPS_REQUIRED $ANYMPS_TRACE_EVENTS; test -d $ANYMPS_RUN"
    assert call("check", "sh", "-c", script).stdout == "1 1 131072\n"
    assert call("check", "--stop-at-refusal", "sh", "-c", script).stdout == "stop 1 131072\n"


def test_nothing_checked_is_told_and_fails_only_with_the_command(call):
    answer = call("check", "true")
    assert answer.returncode == 0
    assert "nothing was checked: no process left a trace; did the program import torch?" in answer.stderr
    failed = call("check", "sh", "-c", "exit 3")
    assert failed.returncode == 2
    assert "the command failed" in failed.stderr
    assert "status 3" in failed.stderr


def test_a_killed_child_is_reported_with_its_signal(call, traced, tmp_path):
    trace = next(traced.iterdir())
    answer = call("check", "--json", "report.json", "sh", "-c", f"cp {trace} $ANYMPS_RUN; kill -9 $$")
    assert answer.returncode == 2
    assert "SIGKILL" in answer.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["signal"] == "SIGKILL"
    assert "refused-operator" in rules_in(report)


def test_standard_output_is_the_childs_unless_a_report_takes_it(call, traced):
    trace = next(traced.iterdir())
    command = ["sh", "-c", f"cp {trace} $ANYMPS_RUN; echo out"]
    assert call("check", *command).stdout == "out\n"
    answer = call("check", "--json", "-", *command)
    assert json.loads(answer.stdout)["counts"]["error"] == 1
    assert answer.stderr.startswith("out\n")
    assert call("check", "--quiet", *command).stderr == ""


def test_a_program_that_never_used_the_device(call, tmp_path):
    TraceFile(tensors=0, blocks=0, driver=0).write(tmp_path)
    answer = call("check", "--from", tmp_path)
    assert answer.returncode == 1
    assert "mps-not-used" in answer.stderr


def test_what_is_kept_can_be_reported_on(call, traced):
    trace = next(traced.iterdir())
    assert call("check", "--keep", "kept", "sh", "-c", f"cp {trace} $ANYMPS_RUN").returncode == 1
    assert call("check", "--from", "kept").returncode == 1


@pytest.mark.parametrize(
    ("options", "status"),
    [([], 1), (["--fail-on", "error"], 1), (["--fail-on", "never"], 0), (["--fail-on", "note"], 1)],
)
def test_status(call, traced, options, status):
    assert call("check", *options, "--from", traced).returncode == status


@pytest.mark.parametrize(("options", "status"), [(["--fail-on", "error"], 0), (["--fail-on", "error", "--strict"], 1)])
def test_strict_makes_known_failures_errors(call, tmp_path, options, status):
    TraceFile().tally(trace_file.FINDING, "known-mac-failure\taten::x float16").write(tmp_path)
    assert call("check", *options, "--from", tmp_path).returncode == status


def test_json_has_each_finding(call, traced, tmp_path):
    report = json.loads(call("check", "--json", "-", "--from", traced).stdout)
    assert report["counts"] == {"error": 1, "warning": 4, "note": 1}
    assert report["failed"] is True
    assert report["command"] == ["python", "train.py"]
    found = rules_in(report)
    assert found["refused-operator"] == {
        "rule": "refused-operator",
        "severity": "error",
        "subject": "aten::_linalg_eigh",
        "file": str(tmp_path / "train.py"),
        "line": 3,
        "count": 4,
        "total": 0,
        "unit": None,
        "detail": found["refused-operator"]["detail"],
        "upgrade": None,
    }
    assert "release" in found["refused-operator"]["detail"] or "runs on MPS" in found["refused-operator"]["detail"]
    assert (found["repeated-copy"]["total"], found["repeated-copy"]["unit"]) == (3 << 20, "bytes")
    assert (found["synchronisation"]["total"], found["synchronisation"]["unit"]) == (2_000_000, "ns")
    assert found["timing-without-synchronize"]["line"] == 4
    assert found["environment-unread"]["file"] is None


def test_the_screen_shows_places_with_their_source(call, traced):
    screen = call("check", "--from", traced).stderr
    assert screen.startswith("anymps check: 1 error, 4 warnings, 1 note: not ready for a Mac\n")
    assert re.search(
        r"error refused-operator: .*\n.*\n(.*\n)+    train\.py:3  4\u00d7  aten::_linalg_eigh\n      y = model", screen
    )
    assert "    train.py:3  30\u00d7  3.0 MiB\n" in screen
    assert "    train.py:5  40\u00d7  2 ms  item\n      loss.item()\n" in screen
    assert screen.index("error refused") < screen.index("warning synchron") < screen.index("note environment")
    assert "\x1b" not in screen


def test_a_python_that_cannot_read_the_source_is_a_caveat(call, traced, tmp_path):
    python = tmp_path / "broken" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    answer = call("check", "--json", "-", "--from", traced, VIRTUAL_ENV=str(tmp_path / "broken"))
    report = json.loads(answer.stdout)
    assert report["skipped_rules"] == ["timing-without-synchronize"]
    assert "timing-without-synchronize was not looked for" in answer.stderr
    assert "timing-without-synchronize" not in rules_in(report)


def test_sarif_has_what_the_schema_requires(call, traced):
    log = json.loads(call("check", "--sarif", "-", "--from", traced).stdout)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    identifiers = [rule["id"] for rule in driver["rules"]]
    assert len(set(identifiers)) == len(identifiers)
    for rule in driver["rules"]:
        assert rule["help"]["text"] and rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    assert len(run["results"]) == 6
    for result in run["results"]:
        assert identifiers[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        for location in result["locations"]:
            physical = location["physicalLocation"]
            assert physical["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
            assert physical["region"]["startLine"] >= 1
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"].startswith("file:///")
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"].endswith("/")
    assert run["invocations"][0]["executionSuccessful"] is True
    assert [result["locations"] for result in run["results"]].count([]) == 1


def test_a_file_elsewhere_is_an_absolute_and_encoded_uri(call, tmp_path):
    TraceFile().tally(trace_file.FINDING, "pin-memory", "/odd place/tr#1.py:3").write(tmp_path)
    log = json.loads(call("check", "--sarif", "-", "--from", tmp_path).stdout)
    physical = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "file:///odd%20place/tr%231.py"}


def test_junit_has_a_case_for_each_rule(call, traced):
    rules = listed_rules(call)
    root = xml.etree.ElementTree.fromstring(call("check", "--junit", "-", "--from", traced).stdout)
    (suite,) = root.iter("testsuite")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert set(cases) == {"command", *rules}
    assert int(suite.get("tests")) == len(cases)
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {
        *("refused-operator", "repeated-copy", "known-mac-failure", "synchronisation", "timing-without-synchronize")
    }
    assert int(suite.get("failures")) == len(failed)
    assert "aten::<x> & float16" in cases["known-mac-failure"].find("failure").text
    assert "PYTORCH_MPS_LOG_LEVEL" in cases["environment-unread"].find("system-out").text


def test_junit_of_a_failed_command_has_an_error(call, tmp_path):
    call("check", "--junit", "report.xml", "sh", "-c", "exit 3")
    suite = xml.etree.ElementTree.parse(tmp_path / "report.xml").getroot().find("testsuite")
    assert suite.get("errors") == "1"
    assert suite.find("testcase[@name='command']/error") is not None


def test_html_needs_nothing_else_and_escapes(call, traced):
    page = call("check", "--html", "-", "--from", traced).stdout
    assert re.search(r"reported <time>\d{4}-\d\d-\d\d \d\d:\d\d UTC</time>", page)
    for rule in re.findall(r'<a href="#([a-z0-9-]+)">', page):
        assert f'id="{rule}"' in page
    assert "aten::&lt;x&gt; &amp; float16" in page
    assert "y = model(x)" in page
    assert "prefers-color-scheme: dark" in page
    assert not re.search(r'src=|href="(?!#)|url\(|https?://', page)


def test_html_quotes_code_without_its_common_indentation(call, traced, tmp_path):
    deep = "def train():\n    for x in data:\n        y = model(x)\n\n            .sum()\n"
    (tmp_path / "train.py").write_text(deep)
    page = call("check", "--html", "-", "--from", traced).stdout
    assert "     2  for x in data:\n<b>→    3      y = model(x)</b>\n     4  \n" in page


def listed_rules(call) -> dict[str, str]:
    answer = call("check", "--rules")
    assert answer.returncode == 0
    return dict(re.findall(r"^([a-z][a-z0-9-]*) \((.*)\)$", answer.stdout, re.MULTILINE))


def test_the_documentation_lists_the_rules(call):
    rows = re.findall(
        r"^\| `([a-z0-9-]+)` \| ([a-z]+(?:, error with --strict)?) \|", DOCUMENTATION.read_text(), re.MULTILINE
    )
    assert dict(rows) == listed_rules(call)
    assert len(rows) >= 40


def test_memory_that_grows_is_found_and_a_plateau_is_not(call, tmp_path):
    for name, held in {"grows": lambda i: 1 << 20, "flat": lambda i: 0}.items():
        folder = tmp_path / name
        folder.mkdir()
        trace = TraceFile()
        for i in range(30):
            trace.step("train.py:9", i, (8 << 20) + i * held(i))
        trace.write(folder)
        found = rules_in(json.loads(call("check", "--json", "-", "--from", folder).stdout))
        assert ("memory-growth" in found) == (name == "grows")


def test_no_traces_stay(call, environment):
    call("check", "true")
    assert os.listdir(environment["TMPDIR"]) == []


CATCHING = """
import contextlib
import torch

matrix = torch.eye(3, device="mps")
try:
    torch.linalg.eigh(matrix)
except (ValueError, NotImplementedError):
    print("caught")
with contextlib.suppress(RuntimeError):
    torch.linalg.eigh(matrix)
    print("not reached")
try:
    torch.linalg.eigh(matrix)
except NotImplementedError:
    raise
except Exception:
    pass
torch.linalg.eigh(matrix)  # anymps: ignore[refused-operator]
torch.linalg.eigh(matrix)  # anymps: ignore[float64-refused]
"""


def test_what_a_program_catches_is_refused_and_no_finding(call, tmp_path):
    (tmp_path / "catching.py").write_text(CATCHING)
    answer = call("check", "--json", "found.json", "--write-baseline", "known.tsv", "catching.py")
    assert answer.returncode == 1
    assert (answer.stdout.count("caught"), "not reached" in answer.stdout) == (1, False)
    report = json.loads((tmp_path / "found.json").read_text())
    refused = [finding["line"] for finding in report["findings"] if finding["rule"] == "refused-operator"]
    assert refused == [14, 20]
    assert report["accepted"] == 1
    answer = call("check", "--json", "found.json", "--baseline", "known.tsv", "catching.py")
    report = json.loads((tmp_path / "found.json").read_text())
    assert (answer.returncode, report["findings"], report["accepted"]) == (0, [], 3)
    assert "nothing found (3 accepted)" in answer.stderr


def test_a_baseline_that_is_none_is_refused_in_one_line(call, tmp_path):
    for text, said in (
        ("what is this\n", "known.tsv:1: expected rule"),
        ("no-rule\ta.py\t\n", "there is no rule no-rule"),
    ):
        (tmp_path / "known.tsv").write_text(text)
        answer = call("check", "--baseline", "known.tsv", "true")
        assert answer.returncode == 2
        assert said in answer.stderr and answer.stderr.count("\n") == 1
    assert call("check", "--baseline", "missing.tsv", "true").returncode == 2
