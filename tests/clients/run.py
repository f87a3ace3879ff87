"""Other people's test suites on the mps device.

    make test-clients CLIENTS=FOLDER
    python tests/clients/run.py FOLDER [--clients kornia,skorch] [--limit-s 1800] [--table docs/clients.md]

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
    r"not currently implemented for the MPS device|MPS framework doesn't support float64|on MPS device|"
    r"not (?:yet )?supported (?:on|for) (?:the )?MPS|MPS backend (?:is|does)|Undefined type Float8",
    re.IGNORECASE,
)
DOWNLOAD = re.compile(
    r"ConnectionError|URLError|HTTPError|Max retries exceeded|name resolution|OfflineModeIsEnabled|"
    r"LocalEntryNotFoundError|We couldn't connect|Network is unreachable|Connection refused|client has been closed"
)
PACKAGE = re.compile(
    r"ModuleNotFoundError|ImportError while importing test module|not found in `markers` configuration"
)
OUTCOMES = ("passed", "skipped", "refused", "download", "package", "theirs", "ours")


@dataclasses.dataclass(frozen=True)
class Client:
    name: str
    folder: str
    path: str  # of its sources, below the folder
    where: str  # pytest runs there
    arguments: str


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


def known_mistakes() -> list[tuple[str, re.Pattern]]:
    return [(client, re.compile(test)) for client, test, *_ in rows_of(HERE / "known.tsv")]


def outcome_of(client: str, test: str, text: str, known: list[tuple[str, re.Pattern]]) -> str:
    """Of a test that failed with this text."""
    if any(name == client and pattern.search(test) for name, pattern in known):
        return "theirs"
    if REFUSED.search(text):
        return "refused"
    if PACKAGE.search(text):
        return "package"
    return "download" if DOWNLOAD.search(text) else "ours"


def read_report(client: Client, report: Path, known: list[tuple[str, re.Pattern]]) -> Result:
    result = Result(client)
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        test = f"{case.get('classname', '')}::{case.get('name', '')}"
        broken = case.find("failure") if case.find("failure") is not None else case.find("error")
        if broken is None:
            result.counts["skipped" if case.find("skipped") is not None else "passed"] += 1
            continue
        text = f"{broken.get('message', '')}\n{broken.text or ''}"
        outcome = outcome_of(client.name, test, text, known)
        result.counts[outcome] += 1
        said = (broken.get("message") or "").strip().splitlines()
        result.failures.append((outcome, test, said[-1] if said else ""))
    return result


def run(client: Client, root: Path, limit_s: int, known: list[tuple[str, re.Pattern]]) -> Result:
    folder = root / client.folder
    path = os.pathsep.join(filter(None, [str(folder / client.path), os.environ.get("PYTHONPATH", "")]))
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
        command += [f"--junitxml={report}", *shlex.split(client.arguments)]
        try:
            done = subprocess.run(
                command, cwd=folder / client.where, env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL,
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
    known = known_mistakes()
    results = []
    for number, client in enumerate(there, start=1):
        print(f"[{number} of {len(there)}] {client.name}", file=sys.stderr, flush=True)
        results.append(run(client, options.folder, options.limit_s, known))
        for outcome, test, line in results[-1].failures:
            print(f"  {outcome}: {test}: {line}", file=sys.stderr)
    table = table_of(results)
    print(table, end="")
    if options.table:
        options.table.write_text(table)
    return 1 if any(result.problem or result.counts["ours"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
