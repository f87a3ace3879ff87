"""Lets every write, open, rename, fsync, mmap ... of every verb fail once, and looks at what is left.

    python tests/faults/inject.py --count 2000 --jobs 2       all scenarios
    python tests/faults/inject.py --only "log note" --verbose

A verb whose file fails must say so and end with a status that is not 0, and its files must be as they were or as they
would have been, whole. Where a failure costs nothing, as that of a cache, the status is 0 and all results are whole.
The library that fails calls is tests/faults/fault_injection.cpp, which `make cpp-tests` builds.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import errno
import itertools
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scenarios import REASONS, Scenario, Tools, all_scenarios, in_common

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "release" / "tests" / "libfault_injection.so"
CALLS = ("write", "read", "open", "close", "rename", "fsync", "mmap", "ftruncate", "mkdir", "chmod")
TALLY = struct.Struct(f"<{len(CALLS)}QQ1024s")
OUTPUT = "standard-output"
# Of each call: the ways in which it fails. The first one comes before all others.
WAYS = {
    "write": [("ENOSPC", "once"), ("ENOSPC", "lasting"), ("ENOSPC", "short"), ("EIO", "once"), ("EDQUOT", "lasting")],
    "open": [("ENOSPC", "once"), ("EACCES", "once"), ("EIO", "once"), ("EMFILE", "once")],
    "rename": [("EIO", "once"), ("ENOSPC", "once")],
    "fsync": [("EIO", "once"), ("ENOSPC", "lasting"), ("EDQUOT", "once")],
    "mmap": [("ENOMEM", "once"), ("EIO", "once")],
    "ftruncate": [("ENOSPC", "once"), ("EIO", "once")],
    "close": [("EIO", "once"), ("EDQUOT", "once")],
    "read": [("EIO", "once"), ("EIO", "lasting")],
    "mkdir": [("ENOSPC", "once"), ("EDQUOT", "once")],
    "chmod": [("EIO", "once")],
}
# What may lie beside the files of a verb after a failure.
BESIDE = re.compile(
    rf"{OUTPUT}$|logbook\.sqlite-(wal|shm|journal)$|logbook\.sqlite\.runs(/|$)|.*\.lmdb-lock$|cache(/|$)|tmp$|run$|kept(/|$)"
)


@dataclasses.dataclass(frozen=True)
class Fault:
    scenario: str
    call: str
    error: str
    how: str
    number: int

    def __str__(self) -> str:
        return f"{self.scenario}: {self.call} {self.number} fails with {self.error}, {self.how}"


@dataclasses.dataclass
class Ended:
    status: int
    errors: str
    output: bytes
    calls: dict[str, int]
    failed: int
    path: str


class Bench:
    """A scenario that is made ready, and its state before and after."""

    def __init__(self, laboratory: Laboratory, scenario: Scenario) -> None:
        self.laboratory = laboratory
        self.scenario = scenario
        place = laboratory.folder / re.sub(r"\W+", "-", scenario.name)
        self.base, self.given = place / "base", place / "given"
        for path in (self.base / "tmp", self.given):
            path.mkdir(parents=True)
        scenario.prepare(laboratory.tools(self.base, self.given))
        self.before = scenario.state(self.copy("before"))
        self.count()

    def copy(self, name: str) -> Path:
        folder = self.base.parent / name
        shutil.copytree(self.base, folder, symlinks=True)
        return folder

    def count(self) -> None:
        """How often each call comes, and what the verb leaves where nothing fails."""
        folder = self.copy("after")
        ended = self.run(folder, Fault(self.scenario.name, "write", "EIO", "once", 0))
        if self.scenario.status is None:
            self.scenario.status = ended.status
        if ended.status != self.scenario.status:
            raise RuntimeError(
                f"{self.scenario.name}: status {ended.status} without a failure\n{ended.errors}{ended.output.decode()}"
            )
        self.counts = ended.calls
        self.after = self.scenario.state(folder)
        self.output = in_common(ended.output, folder)
        self.names = names_in(folder) | names_in(self.base)

    def run(self, folder: Path, fault: Fault | None) -> Ended:
        tally = folder.with_name(folder.name + ".tally")
        tally.write_bytes(bytes(4096))
        environment = self.laboratory.environment(folder) | self.scenario.variables
        if fault is not None:
            chosen = {"FOLDER": str(folder), "TALLY": str(tally), "CALL": fault.call, "NTH": str(fault.number),
                      "ERRNO": str(getattr(errno, fault.error)), "HOW": fault.how}  # fmt: skip
            environment |= {f"ANYMPS_FAULT_{name}": value for name, value in chosen.items()}
            environment["LD_PRELOAD"] = str(self.laboratory.library)
        words = [word.format(given=self.given, python=sys.executable) for word in self.scenario.words]
        with open(folder / OUTPUT, "wb") as output:
            process = subprocess.run(
                [self.laboratory.anymps, *words], env=environment, cwd=folder, stdout=output, stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL, timeout=300,
            )  # fmt: skip
        *counts, failed, path = TALLY.unpack_from(tally.read_bytes())
        calls = dict(zip(CALLS, counts, strict=True))
        tally.unlink()
        errors = process.stderr.decode(errors="replace")
        written = (folder / OUTPUT).read_bytes()
        return Ended(process.returncode, errors, written, calls, failed, path.rstrip(b"\0").decode(errors="replace"))

    def complaint(self, fault: Fault, folder: Path) -> str | None:
        """What is wrong after this failure; nothing where all is well; `-` where the call did not come."""
        ended = self.run(folder, fault)
        if ended.failed == 0:
            return "-"
        where = f" [{ended.path}, status {ended.status}] {ended.errors.strip()[-600:]}"
        if ended.status < 0:
            return f"ended by signal {-ended.status}{where}"
        left = {name for name in names_in(folder) - self.names if not BESIDE.match(name)}
        if ended.path.startswith("tmp/"):  # the folder for passing things may be what could not be removed
            left = {name for name in left if not name.startswith("tmp/")}
        if left:
            return f"left behind: {sorted(left)}{where}"
        try:
            found = self.scenario.state(folder)
        except Exception as error:  # what cannot be read is what is looked for
            return f"its files cannot be read: {error!r}{where}"
        for part, content in found.items():
            whole = self.scenario.between.get(part)
            if content in (self.before[part], self.after[part]) or (whole and whole(self.before[part], content)):
                continue
            return f"{part} is neither the old nor the new: {str(content)[:200]}{where}"
        says_so = self.scenario.status != 0 and "anymps: error:" in ended.errors
        if ended.status == self.scenario.status and not says_so:
            if not re.search(self.scenario.tolerated, ended.path):
                return f"the status does not tell{where}"
            same = self.scenario.measures or in_common(ended.output, folder) == self.output
            if found != self.after or not same:
                return f"the status is good, and the results are not{where}"
        elif not self.says_why(fault, ended):
            return f"the message tells neither the file nor the reason{where}"
        return self.complaint_again(folder)

    def says_why(self, fault: Fault, ended: Ended) -> bool:
        reasons = (os.strerror(getattr(errno, fault.error)), *REASONS, "standard output")
        names = {Path(name).name for name in self.names} - {"tmp"}
        if any(text in ended.errors for text in (*reasons, *names)):
            return True
        # With --json the document says why a point failed, and --quiet leaves nothing else.
        return any(text in ended.output.decode(errors="replace") for text in reasons)

    def complaint_again(self, folder: Path) -> str | None:
        if self.scenario.again is None:
            return None
        ended = self.run(folder, None)
        if ended.status != self.scenario.status:
            return f"the same command does not go on: {ended.errors.strip()[-600:]}"
        found = self.scenario.state(folder)
        for part in self.scenario.again:
            if found[part] != self.after[part]:
                return f"the same command does not come to the same end: {part}"
        return None


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


class Laboratory:
    def __init__(self, folder: Path, anymps: str, library: Path) -> None:
        self.folder = folder.resolve()
        self.anymps = anymps
        self.library = library
        self.numbers = itertools.count()

    def environment(self, folder: Path) -> dict[str, str]:
        unwanted = ("ANYMPS", "PYTORCH_ENABLE_MPS_FALLBACK", "NO_COLOR", "COLUMNS", "LD_PRELOAD")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        own = {"TMPDIR": "tmp", "ANYMPS_CACHE": "cache", "ANYMPS_LOGBOOK": "logbook.sqlite"}
        # Named, so that `anymps sr` need not ask Python for it.
        installed = sorted(Path(sys.prefix).glob("lib/python*/site-packages/anymps/lib/torch*/anymps-sr"))
        named = os.environ.get("ANYMPS_SR_EXECUTABLE") or (str(installed[0]) if installed else None)
        if named:
            kept["ANYMPS_SR_EXECUTABLE"] = named
        fixed = {"VIRTUAL_ENV": sys.prefix, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        return kept | fixed | {name: str(folder / place) for name, place in own.items()}

    def tools(self, folder: Path, given: Path | None = None) -> Tools:
        given = given or folder.parent / "given"
        return Tools(self.anymps, folder, given, self.environment(folder), self.library)

    def scenarios(self) -> list[Scenario]:
        return all_scenarios(self.tools)

    def look(self, bench: Bench, fault: Fault) -> str | None:
        folder = bench.copy(f"fault-{next(self.numbers)}")
        try:
            return bench.complaint(fault, folder)
        finally:
            shutil.rmtree(folder)


def plan(benches: list[Bench], chance: random.Random) -> list[Fault]:
    """The first way of every call of every scenario, then the others, each part in an order by chance."""
    first, more = [], []
    for bench in benches:
        parts = {True: [], False: []}
        for call, ways in WAYS.items():
            for way, (error, how) in enumerate(ways):
                faults = [Fault(bench.scenario.name, call, error, how, n) for n in range(1, bench.counts[call] + 1)]
                parts[way == 0].extend(faults)
        most = bench.scenario.most
        first += parts[True] if most is None else chance.sample(parts[True], min(most, len(parts[True])))
        more += parts[False] if most is None else []
    for part in (first, more):
        chance.shuffle(part)
    return first + more


def inject(
    laboratory: Laboratory, scenarios: list[Scenario], count: int, jobs: int, seed: int, verbose: bool, skip: int = 0
):
    """The complaints, and how many failures there were of each scenario."""
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        benches = {bench.scenario.name: bench for bench in pool.map(lambda one: Bench(laboratory, one), scenarios)}
        faults = plan(list(benches.values()), random.Random(seed))[skip : skip + count]
        if verbose:
            for bench in benches.values():
                print(f"{bench.scenario.name}: {bench.counts}", flush=True)
            print(f"{len(faults)} failures after {time.monotonic() - began:.0f} s", flush=True)
        complaints, seen, missed = [], collections.Counter(), 0
        answers = {pool.submit(laboratory.look, benches[fault.scenario], fault): fault for fault in faults}
        for done, answer in enumerate(concurrent.futures.as_completed(answers), start=1):
            if verbose and done % 100 == 0:
                print(f"{done} of {len(faults)} after {time.monotonic() - began:.0f} s", flush=True)
            fault, complaint = answers[answer], answer.result()
            if complaint == "-":
                missed += 1
                continue
            seen[fault.scenario] += 1
            if complaint is not None:
                complaints.append(f"{fault}: {complaint}")
                if verbose:
                    print(complaints[-1], flush=True)
    return complaints, seen, missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="how many failures")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="so many, which an earlier run with this seed has seen")
    parser.add_argument("--only", default="", help="scenarios whose name matches")
    parser.add_argument("--light", action="store_true", help="only scenarios that start neither Python nor libtorch")
    parser.add_argument("--library", type=Path, default=LIBRARY)
    parser.add_argument("--anymps", default=str(Path(sys.executable).parent / "anymps"))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anymps-faults-") as folder:
        laboratory = Laboratory(Path(folder), options.anymps, options.library.resolve())
        scenarios = [
            one
            for one in laboratory.scenarios()
            if re.search(options.only, one.name) and not (options.light and one.heavy)
        ]
        complaints, seen, missed = inject(
            laboratory, scenarios, options.count, options.jobs, options.seed, options.verbose, options.skip
        )
    for name, number in sorted(seen.items()):
        print(f"{number:6} {name}")
    print(f"{sum(seen.values())} failures, {missed} that did not come, {len(complaints)} findings")
    if not options.verbose:
        print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
