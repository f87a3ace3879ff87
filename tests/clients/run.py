"""Other people's test suites on the mps device.

    make test-clients CLIENTS=FOLDER
    python tests/clients/run.py FOLDER [--clients kornia,skorch] [--limit-s 1800] [--reports build/clients-reports]

FOLDER holds checkouts of the libraries, by the names of their repositories; clients.tsv says which of their tests run
and how. Nothing of theirs is in this repository, and what is not in FOLDER is left out and named. What a library needs
beside torch has to be installed; `make test-clients` puts what its own list names into build/clients.

Every failure is told apart: what PyTorch refuses on a Mac too; what wants a download, or a package that is not there;
what is the library's own mistake (known.tsv, with the reason); and the rest, which is ours. The status is 1 where there
is any of the rest.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import os
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
REFUSED = re.compile(
    r"not currently implemented for the MPS device|MPS framework doesn't support float64|"
    r"not (?:yet |currently )?(?:supported|implemented) (?:on|for|in) (?:the )?MPS|MPS backend (?:is|does)|"
    r"for MPS does not support|does not support \w+ on MPS|Undefined type Float8",
    re.IGNORECASE,
)
DOWNLOAD = re.compile(
    r"ConnectionError|URLError|HTTPError|Max retries exceeded|name resolution|OfflineModeIsEnabled|"
    r"LocalEntryNotFoundError|We couldn't connect|Network is unreachable|Connection refused|client has been closed"
)
PACKAGE = re.compile(
    r"ModuleNotFoundError|ImportError while importing test module|not found in `markers` configuration|"
    r"library but it was not found in your environment|"
    r"Couldn't load custom C\+\+ ops"  # torchvision of another build than torch
)
CUT = re.compile(r"full report in element text|^collection failure$")
RAISED = "message: "  # before the lines of pytest's message
OUTCOMES = ("passed", "skipped", "refused", "download", "package", "theirs", "ours")


@dataclasses.dataclass(frozen=True)
class Client:
    name: str
    folder: str
    path: str  # of its sources, below the folder
    where: str  # pytest runs there
    arguments: str
    environment: str = ""  # NAME=value ..., where the library is told of the device


@dataclasses.dataclass(frozen=True)
class Known:
    """A mistake of a client's: both expressions have to be found, so that another failure of the test is not it."""

    client: str
    test: re.Pattern
    report: re.Pattern = re.compile("")


@dataclasses.dataclass
class Result:
    client: Client
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    failures: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)  # (outcome, test, last line)
    problem: str = ""


def rows_of(table: Path) -> list[list[str]]:
    return [line.split("\t") for line in table.read_text().splitlines()[1:] if line]


def clients() -> list[Client]:
    return [Client(*row) for row in rows_of(HERE / "clients.tsv")]


def known_mistakes() -> list[Known]:
    rows = rows_of(HERE / "known.tsv")
    return [Known(client, re.compile(test), re.compile(report, re.MULTILINE)) for client, test, report, _ in rows]


def outcome_of(client: str, test: str, text: str, known: list[Known]) -> str:
    """Of a test that failed with this report."""
    if any(row.client == client and row.test.search(test) and row.report.search(text) for row in known):
        return "theirs"
    # Only what was raised: the lines of source around it may well speak of mps, too.
    text = "\n".join(line for line in text.splitlines() if line.startswith(("E ", RAISED)))
    if REFUSED.search(text):
        return "refused"
    if PACKAGE.search(text):
        return "package"
    return "download" if DOWNLOAD.search(text) else "ours"


def read_report(client: Client, report: Path, known: list[Known]) -> Result:
    result = Result(client)
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        test = f"{case.get('classname', '')}::{case.get('name', '')}"
        broken = case.find("failure") if case.find("failure") is not None else case.find("error")
        if broken is None:
            result.counts["skipped" if case.find("skipped") is not None else "passed"] += 1
            continue
        raised = [line for line in (broken.text or "").splitlines() if line.startswith("E ")]
        message = broken.get("message", "")
        text = "\n".join([*(RAISED + line for line in message.splitlines()), broken.text or ""])
        outcome = outcome_of(client.name, test, text, known)
        result.counts[outcome] += 1
        said = message.strip().splitlines()
        if raised and (not said or CUT.search(said[-1])):
            said = [raised[-1].removeprefix("E ").strip()]
        result.failures.append((outcome, test, said[-1] if said else ""))
    return result


def run(client: Client, root: Path, limit_s: int, known: list[Known], reports: Path | None = None) -> Result:
    folder = root.resolve() / client.folder
    paths = [str(folder / client.path), str(HERE / "plugins"), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, paths))
    told = dict(pair.split("=", 1) for pair in shlex.split(client.environment))
    # Without the hub's own switch every download is tried, and waited for, before it fails.
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", **told, "PYTHONPATH": path}
    with tempfile.TemporaryDirectory() as scratch:
        report = (reports or Path(scratch)).resolve() / f"{client.name}.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
        command += [f"--junitxml={report}", *shlex.split(client.arguments)]
        try:
            done = subprocess.run(
                command, cwd=folder / client.where, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit_s,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Result(client, problem=f"not done after {limit_s} s")
        if not report.exists():
            return Result(client, problem=f"pytest ended with status {done.returncode}: {done.stdout[-600:].strip()}")
        return read_report(client, report, known)


def table_of(results: list[Result]) -> str:
    lines = ["| client | " + " | ".join(OUTCOMES) + " |", "|---" * (len(OUTCOMES) + 1) + "|"]
    for result in results:
        cells = [result.problem] if result.problem else [str(result.counts[outcome]) for outcome in OUTCOMES]
        lines.append(f"| {result.client.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clients", default="", metavar="A,B", help="only these")
    parser.add_argument("--limit-s", type=int, default=1800, help="for each client (1800)")
    parser.add_argument("--reports", type=Path, metavar="FOLDER", help="keep pytest's reports there")
    parser.add_argument("--table", type=Path, help="write the table to this file, too")
    options = parser.parse_args()
    wanted = [client for client in clients() if not options.clients or client.name in options.clients.split(",")]
    there = [client for client in wanted if (options.folder / client.folder).is_dir()]
    for client in wanted:
        if client not in there:
            print(f"left out: {client.name}, as there is no {options.folder / client.folder}", file=sys.stderr)
    if not there:
        print(f"clients: no checkout of any client in {options.folder}", file=sys.stderr)
        return 2
    if options.reports:
        options.reports.mkdir(parents=True, exist_ok=True)
    known = known_mistakes()
    results = []
    for number, client in enumerate(there, start=1):
        print(f"[{number} of {len(there)}] {client.name}", file=sys.stderr, flush=True)
        results.append(run(client, options.folder, options.limit_s, known, options.reports))
        for outcome, test, line in results[-1].failures:
            print(f"  {outcome}: {test}: {line}", file=sys.stderr)
    table = table_of(results)
    print(table, end="")
    if options.table:
        options.table.write_text(table)
    return 1 if any(result.problem or result.counts["ours"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
