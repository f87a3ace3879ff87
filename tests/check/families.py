"""Every line of families.txt and optimisers.txt under `anymps check`, as a table.

    python tests/check/families.py [NAME...] [--jobs N] [--table FILE]

Each runs twice. Once under the check, and once beside it, where PyTorch's dispatcher tells which operators are called.
What the check refuses must be refused in data/coverage/history.txt (else it is a false finding), and what is called and
refused there must have been found (else it is a missed one). Ends with 1 where anything is false, missed or crashed.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch
from anymps._executable import executable
from family import lines_of

HERE = pathlib.Path(__file__).parent
HISTORY = HERE.parents[1] / "data" / "coverage" / "history.txt"
LISTS = ("families.txt", "optimisers.txt")
COLUMNS = ("list", "name", "refused", "fallback", "other", "status")
LIMIT_S = 600


def refused_operators(release: str) -> set[str]:
    """All overloads that MPS refuses in a release of PyTorch, by the committed history."""
    rows = [line.split() for line in HISTORY.read_text().splitlines() if not line.startswith("#")]
    releases = next(words[1:] for words in rows if words[0] == "releases")
    index = releases.index(release)
    return {f"aten::{words[0]}" for words in rows if len(words) == 2 and words[1][index] == "-"}


def without_overload(name: str) -> str:
    return name.partition(".")[0]


@dataclasses.dataclass
class Outcome:
    list: str
    name: str
    findings: list[dict]
    called: set[str]
    failure: str

    def subjects(self, rule: str) -> set[str]:
        return {finding["subject"] for finding in self.findings if finding["rule"] == rule}

    def status(self, refused: set[str]) -> str:
        if self.failure:
            return self.failure
        found = self.subjects("refused-operator")
        false = found - {without_overload(name) for name in refused}
        missed = {without_overload(name) for name in self.called & refused} - found
        wrong = [f"false: {name}" for name in sorted(false)] + [f"missed: {name}" for name in sorted(missed)]
        return ", ".join(wrong) or "as expected"

    def columns(self, refused: set[str]) -> tuple[str, ...]:
        shown = ("refused-operator", "fallback-operator")
        others = collections.Counter(finding["rule"] for finding in self.findings if finding["rule"] not in shown)
        other = ", ".join(f"{rule} ({count})" if count > 1 else rule for rule, count in sorted(others.items()))
        refusals, fallbacks = (", ".join(sorted(self.subjects(rule))).replace("aten::", "") for rule in shown)
        return (self.list.removesuffix(".txt"), self.name, refusals, fallbacks, other, self.status(refused))


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else "no output"


def run(anymps: str, chosen: str, name: str) -> Outcome:
    unwanted = ("ANYMPS", "PYTORCH_", "MTL_")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    environment |= {"VIRTUAL_ENV": sys.prefix, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    program = [str(HERE / "family.py"), chosen, name]
    outcome = Outcome(chosen, name, [], set(), "")
    with tempfile.TemporaryDirectory() as folder:
        report, operators = pathlib.Path(folder, "report.json"), pathlib.Path(folder, "operators.txt")
        commands = (
            ([anymps, "check", "--quiet", "--json", str(report), *program], {}),
            ([sys.executable, *program, "--operators", str(operators)], {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}),
        )
        for command, variables in commands:
            try:
                ended = subprocess.run(
                    command, env=environment | variables, capture_output=True, text=True, timeout=LIMIT_S
                )
            except subprocess.TimeoutExpired:
                outcome.failure = f"not done after {LIMIT_S} s"
                break
            # The check ends with 1 where it finds something.
            if ended.returncode not in ((0, 1) if command[0] == anymps else (0,)):
                outcome.failure = f"failed ({ended.returncode}): {last_line(ended.stderr)}"
                break
        if report.exists():
            outcome.findings = json.loads(report.read_text())["findings"]
        if operators.exists():
            outcome.called = set(operators.read_text().split())
    return outcome


def outcomes(anymps: str, wanted: list[tuple[str, str]], jobs: int):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda one: run(anymps, *one), wanted)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="all, where none is named")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=pathlib.Path, help="write the table here")
    parser.add_argument("--findings", type=pathlib.Path, help="write all findings here, as JSON")
    arguments = parser.parse_args()
    wanted = [(chosen, name) for chosen in LISTS for name in lines_of(chosen)]
    wanted = [one for one in wanted if not arguments.names or one[1] in arguments.names]
    refused = refused_operators(torch.__version__.partition("+")[0])
    rows, findings = [COLUMNS], {}
    for outcome in outcomes(executable(), wanted, arguments.jobs):
        rows.append(outcome.columns(refused))
        findings[outcome.name] = outcome.findings
        print("\t".join(rows[-1]), flush=True)
    if arguments.table:
        arguments.table.write_text("".join("\t".join(columns) + "\n" for columns in rows))
    if arguments.findings:
        arguments.findings.write_text(json.dumps(findings, indent=1))
    return int(any(columns[-1] != "as expected" for columns in rows[1:]))


if __name__ == "__main__":
    sys.exit(main())
