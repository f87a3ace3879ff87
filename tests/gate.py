"""Runs the suites that gate a change, C++ and Python, and ends with a table of them.

    python tests/gate.py run --cpp build/release/tests     every suite
    python tests/gate.py run --suites check,opinfo         some of them
    python tests/gate.py cpp build/tsan/tests --each       C++ tests alone, each in a process of its own
    python tests/gate.py step lint -- make lint            a command as a row of the table
    python tests/gate.py table                             what ran since `forget`
    python tests/gate.py forget

tests/budgets.tsv names the suites, how they run and how long they may take. C++ tests share a process with their test
suite, Python's with their folder; as many processes run at once as there are cores, and memory for each. A suite that
needs the cores for itself runs alone, after them. A suite over its budget is named and fails nothing: these machines
are shared. The slices that ran are those of `make test SLICE=k/n`, else the fixed ones.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RECORDS = ROOT / "build" / "gate.jsonl"
BUDGETS = HERE / "budgets.tsv"
# What a suite may take of memory: the largest simulate a Mac whose memory is touched.
SHARE_BYTES = 4 << 30
# What the suites may write: folders of tests, caches of kernels, checkpoints.
LEAST_ON_DISK = 2 << 30
# What hangs is ended after so many seconds. Slow machines take a tenth of it.
MOST_OF_A_PROCESS = 600
MOST_OF_A_SUITE = 3000

running: set[int] = set()


def rows_of(table: Path) -> list[list[str]]:
    lines = table.read_text().splitlines()
    return [line.split("\t") for line in lines[1:] if line and not line.startswith("#")]


@dataclasses.dataclass(frozen=True)
class Budget:
    suite: str
    how: str  # cpp, parallel, alone or step
    seconds: float


def budgets() -> dict[str, Budget]:
    found = [Budget(suite, how, float(seconds)) for suite, how, seconds, *_ in rows_of(BUDGETS)]
    return {budget.suite: budget for budget in found}


@dataclasses.dataclass
class Record:
    """One row of the table."""

    suite: str
    seconds: float = 0.0
    tests: int = 0
    failed: int = 0
    skipped: int = 0
    slowest: list = dataclasses.field(default_factory=list)

    def add(self, name: str, seconds: float, outcome: str) -> None:
        self.tests += 1
        self.seconds += seconds
        self.failed += outcome == "failed"
        self.skipped += outcome == "skipped"
        self.slowest = sorted([*self.slowest, (round(seconds, 1), name)], reverse=True)[:10]


def keep(record: Record) -> None:
    RECORDS.parent.mkdir(exist_ok=True)
    with RECORDS.open("a") as file:
        file.write(json.dumps(dataclasses.asdict(record)) + "\n")


def cases_of(report: Path):
    """(file or suite, test, seconds, outcome) of each test in a report of GoogleTest's or pytest's."""
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            outcome = "failed"
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            outcome = "skipped"
        else:
            outcome = "passed"
        yield case.get("classname", ""), case.get("name", ""), float(case.get("time", 0)), outcome


# C++


def cpp_processes(program: Path, each: bool, env: dict[str, str]) -> list[list[str]]:
    """What runs together: the tests of a test suite, or one test."""
    listed = subprocess.run([program, "--gtest_list_tests"], env=env, capture_output=True, text=True, check=True).stdout
    groups, suite = collections.defaultdict(list), ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if not line.startswith(" "):
            suite = name if name.endswith(".") else ""
        elif suite:
            test = suite + name.strip()
            groups[test if each else suite].append(test)
    return list(groups.values())


def run_limited(command: list[str], seconds: float, env: dict[str, str]) -> tuple[int, str]:
    """The status and what was printed. What hangs is ended, with all that it started."""
    process = subprocess.Popen(
        command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    running.add(process.pid)
    try:
        printed, _ = process.communicate(timeout=seconds)
        return process.returncode, printed
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return -signal.SIGKILL, f"{process.communicate()[0]}\nit did not end within {seconds:.0f} s"
    finally:
        running.discard(process.pid)


def end_all(number: int, _frame) -> None:
    """Ctrl-C reaches no process of another session."""
    for process in list(running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
    os._exit(128 + number)


def run_cpp_process(program: Path, env: dict[str, str], tests: list[str]) -> tuple[list, str]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [str(program), "--gtest_brief=1", f"--gtest_output=xml:{report}", "--gtest_filter=" + ":".join(tests)]
        began = time.monotonic()
        status, printed = run_limited(command, MOST_OF_A_PROCESS, env)
        if report.exists():
            cases = [(f"{suite}.{name}", *rest) for suite, name, *rest in cases_of(report)]
        else:
            # It ended before it could write: which test it was is in what it printed.
            cases = [
                (tests[0] if len(tests) == 1 else f"{tests[0]} or a later one", time.monotonic() - began, "failed")
            ]
        failed = status != 0 or any(outcome == "failed" for *_, outcome in cases)
        return cases, f"{printed}\nstatus {status}: {' '.join(command)}" if failed else ""


def run_cpp(folder: Path, each: bool, jobs: int, prefix: str = "cpp") -> bool:
    good = True
    for program in sorted(folder.glob("*_tests")):
        record = Record(f"{prefix}/{program.name.removesuffix('_tests')}")
        with tempfile.TemporaryDirectory() as cache, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            env = dict(os.environ, ANYMPS_CACHE=cache)
            groups = cpp_processes(program, each, env)
            began = time.monotonic()
            for cases, complaint in pool.map(functools.partial(run_cpp_process, program, env), groups):
                for name, seconds, outcome in cases:
                    record.add(name, seconds, outcome)
                if complaint:
                    good = False
                    record.failed += not any(outcome == "failed" for *_, outcome in cases)
                    print(complaint, flush=True)
        record.seconds = time.monotonic() - began
        print(f"{record.suite}: {record.tests} tests, {record.failed} failed, {record.seconds:.0f} s", flush=True)
        keep(record)
    return good


# Python


def run_suite(suite: str, share: int) -> tuple[Record, int, str]:
    """One suite in a pytest of its own, so that none meets what another left in its process."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", f"--junitxml={report}", str(HERE / suite)]
        path = [str(HERE / "quick_exit"), *filter(None, [os.environ.get("PYTHONPATH")])]
        env = dict(os.environ, PYTHONPATH=os.pathsep.join(path))
        # Threads that wait for each other on a core that is busy take longer than one thread.
        if share > 1:
            env["OMP_NUM_THREADS"] = "1"
        status, printed = run_limited(command, MOST_OF_A_SUITE, env)
        record = Record(suite)
        try:
            for file, name, seconds, outcome in cases_of(report):
                record.add(f"{file.removeprefix('tests.').replace('.', '/')}::{name}", seconds, outcome)
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            # A suite without a whole report did not pass, and the suites after it are run all the same.
            status = status or 1
            printed += f"\n{suite} left no report that can be read: {error}; {disk()}"
        return record, status, printed


def run_python(suites: list[str], jobs: int) -> bool:
    good = True
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        started = [pool.submit(run_suite, suite, min(jobs, len(suites))) for suite in suites]
        for future in concurrent.futures.as_completed(started):
            record, status, printed = future.result()
            # pytest's 5 is a suite of which nothing was left to run.
            if status not in (0, 5):
                good = False
                record.failed = max(record.failed, 1)
                print(printed)
            counts = f"{record.tests} tests, {record.failed} failed, {record.skipped} skipped"
            print(f"{record.suite}: {counts}, {record.seconds:.0f} s", flush=True)
            keep(record)
    return good


def available_bytes() -> int:
    """Memory that the machine could back now."""
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) * 1024


def disk() -> str:
    """What is free where the suites write."""
    places = {"the checkout": ROOT, "temporary files": Path(tempfile.gettempdir())}
    return ", ".join(
        f"{shutil.disk_usage(place).free / 2**30:.1f} GiB free for {name}" for name, place in places.items()
    )


def check_disk() -> None:
    """Suites on a full disk fail in a hundred ways, none of which says so."""
    if any(shutil.disk_usage(place).free < LEAST_ON_DISK for place in (ROOT, tempfile.gettempdir())):
        raise SystemExit(f"gate: the suites write up to {LEAST_ON_DISK >> 30} GiB, and there are {disk()}; make room")


# The table


def table() -> str:
    if not RECORDS.exists():
        return "nothing ran yet"
    known = budgets()
    records = [Record(**json.loads(line)) for line in RECORDS.read_text().splitlines()]
    width = max(len(record.suite) for record in records)
    lines = [f"{'suite':<{width}}   tests  failed  skipped  seconds  budget"]
    over = []
    for record in records:
        budget = known.get(record.suite)
        shown = f"{budget.seconds:.0f}" if budget else "-"
        counts = f"{record.tests:6}  {record.failed:6}  {record.skipped:7}"
        lines.append(f"{record.suite:<{width}}  {counts}  {record.seconds:7.0f}  {shown:>6}")
        if budget and record.seconds > budget.seconds:
            over.append(f"over its budget: {record.suite}, {record.seconds:.0f} s of {budget.seconds:.0f}")
    slowest = sorted((tuple(slow) for record in records for slow in record.slowest), reverse=True)[:10]
    lines += ["", "slowest tests", *(f"{seconds:7.1f}  {name}" for seconds, name in slowest)]
    tests, failed, skipped = (sum(getattr(r, field) for r in records) for field in ("tests", "failed", "skipped"))
    return "\n".join(
        [*lines, "", *over, disk(), f"{tests - failed - skipped} passed, {failed} failed, {skipped} skipped"]
    )


def run(options) -> bool:
    known = budgets()
    chosen = options.suites.split(",") if options.suites else list(known)
    if unknown := [suite for suite in chosen if suite not in known]:
        raise SystemExit(f"gate: {BUDGETS.name} has no suite {', '.join(unknown)}; it has {', '.join(known)}")
    forgotten = [
        folder.name
        for folder in HERE.iterdir()
        if folder.name not in known and next(folder.glob("test_*.py"), None) is not None
    ]
    if forgotten:
        raise SystemExit(f"gate: {BUDGETS.name} says nothing of {', '.join(sorted(forgotten))}")
    check_disk()
    if not options.append:
        RECORDS.unlink(missing_ok=True)
    good = True
    if options.cpp and not options.suites:
        good = run_cpp(options.cpp, False, options.jobs)
    # The longest first, so that no core is left with one of them at the end.
    together = [suite for suite in chosen if known[suite].how == "parallel"]
    together.sort(key=lambda suite: -known[suite].seconds)
    if together:
        good = run_python(together, min(options.jobs, max(1, available_bytes() // SHARE_BYTES))) and good
    for suite in chosen:
        if known[suite].how == "alone":
            good = run_python([suite], 1) and good
    return good


def step(options) -> int:
    began = time.monotonic()
    status = subprocess.run(options.command, check=False).returncode
    record = Record(options.name, seconds=time.monotonic() - began, failed=int(status != 0))
    keep(record)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    everything = verbs.add_parser("run", help="the suites, and the table")
    everything.add_argument("--cpp", type=Path, metavar="FOLDER", help="where the C++ tests were built")
    everything.add_argument("--suites", metavar="A,B", help="only these")
    everything.add_argument("--append", action="store_true", help="to the table of what ran before")
    alone = verbs.add_parser("cpp", help="C++ tests")
    alone.add_argument("folder", type=Path)
    alone.add_argument("--each", action="store_true", help="each test in a process of its own")
    alone.add_argument("--as", dest="prefix", default="cpp", metavar="NAME", help="what the table calls them")
    for verb in (everything, alone):
        verb.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    command = verbs.add_parser("step", help="a command as a row of the table")
    command.add_argument("name")
    command.add_argument("command", nargs=argparse.REMAINDER)
    verbs.add_parser("table", help="what ran")
    verbs.add_parser("forget", help="begin a new table")
    options = parser.parse_args()

    if options.verb == "forget":
        RECORDS.unlink(missing_ok=True)
        return 0
    if options.verb == "step":
        options.command = options.command[1:] if options.command[:1] == ["--"] else options.command
        return step(options)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_all)
    good = True
    if options.verb == "cpp":
        good = run_cpp(options.folder, options.each, options.jobs, options.prefix)
    elif options.verb == "run":
        good = run(options)
    if options.verb != "cpp":
        print("\n" + table())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
