"""What every verb that writes is called with when its writes fail, and what must be left of its files.

A scenario is made ready once, in a folder that is copied for each failure. `state` names what counts in it: each part
must be as before or as after, whatever failed in between. What a verb reads and does not write lies in `given`, where
nothing fails.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / folder) for folder in ("cli", "superres", "runbook")]

import report_documents as documents  # noqa: E402
from scripts import SWEPT  # noqa: E402
from trace_file import FALLBACK, TraceFile  # noqa: E402

KERNEL = "kernel void add(device float* o, uint i [[thread_position_in_grid]]) { o[i] += 1; }\n"
PROGRAM = "import sys\nprint('trained', sys.argv[1:])\n"
LOGBOOK = "logbook.sqlite"
OLD = "what was there before"
# A full disk in SQLite's words, and in LMDB's.
REASONS = ("disk I/O error", "database or disk is full", "unable to open database file", "out of memory")
# Passing things that could not be removed or closed, after they were read.
PASSING = r"^tmp/|^kept/run/"
State = dict[str, object]


@dataclasses.dataclass
class Scenario:
    name: str
    words: list[str]
    prepare: Callable[[Tools], None]
    state: Callable[[Path], State]
    # Files whose failure the verb gets over, with all of its results as they should be.
    tolerated: str = r"$^"
    # Where not None, the verb is run once more without a failure, and these parts are as they would have been.
    again: tuple[str, ...] | None = None
    # Parts of the state that may be something else than the old and the new: called with the old and with what is
    # there, each says whether that is whole.
    between: dict[str, Callable[[object, object], bool]] = dataclasses.field(default_factory=dict)
    heavy: bool = False
    most: int | None = None  # failures, where one takes long
    status: int | None = 0  # of a call in which nothing fails; None: whatever it is
    measures: bool = False  # so that it never prints the same twice
    variables: dict[str, str] = dataclasses.field(default_factory=dict)


class Tools:
    """How a scenario is made ready: its folder, and anymps without failures."""

    def __init__(self, anymps: str, folder: Path, given: Path, environment: dict[str, str], library: Path) -> None:
        self.anymps = anymps
        self.folder = folder
        self.given = given
        self.environment = environment
        self.library = library

    def call(self, *words, status: int | None = 0, **variables) -> subprocess.CompletedProcess:
        result = subprocess.run(
            [self.anymps, *map(str, words)], env=self.environment | variables, cwd=self.folder,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        if status is not None and result.returncode != status:
            raise RuntimeError(f"anymps {words}: status {result.returncode}\n{result.stderr}")
        return result


def split(line: str) -> list[str]:
    return line.split()


def in_common(content: bytes, folder: Path) -> bytes:
    """Without what differs from run to run: times, numbers of processes, the folder."""
    content = re.sub(rb"\? variable: ANYMPS_FAULT.*\n.*\n.*\n", b"", content)
    return re.sub(rb"\d+(\.\d+)?(e[+-]?\d+)?", b"#", content.replace(bytes(folder), b"FOLDER"))


def files(*names: str) -> Callable[[Path], State]:
    def state(folder: Path) -> State:
        there = {name: folder / name for name in names}
        return {name: in_common(path.read_bytes(), folder) if path.exists() else None for name, path in there.items()}

    return state


def whole_files(*names: str) -> Callable[[Path], State]:
    """Files with measurements in words: JSON that parses, and pages that have their end, are as good as the new."""

    def is_whole(path: Path) -> bool:
        if path.suffix == ".json":
            json.loads(path.read_text())
        return path.suffix == ".json" or path.read_text().endswith("</html>\n")

    def state(folder: Path) -> State:
        found: State = {}
        for name in names:
            path = folder / name
            old_text = path.exists() and path.read_text() == OLD
            found[name] = None if not path.exists() else OLD if old_text else "whole" if is_whole(path) else "half"
        return found

    return state


def bundle(tools_of: Callable[[Path], Tools]) -> Callable[[Path], State]:
    """A bundle and the digest beside it, which must be its own."""

    def state(folder: Path) -> State:
        texts = [folder / "t.tar.zst", folder / "t.tar.zst.sha256"]
        if all(path.exists() and path.read_bytes() == OLD.encode() for path in texts):
            return {"bundle": OLD}
        sha256 = texts[1].read_text().split()[0]
        words = ("handoff", "verify", "t.tar.zst", "--sha256", sha256, "--quiet", "--logbook", folder / "tmp" / "log")
        verified = tools_of(folder).call(*words, status=None)
        for path in (folder / "tmp").glob("log*"):
            path.unlink()
        return {"bundle": "new" if verified.returncode in (0, 1) else verified.stderr}

    return state


def tree(name: str) -> Callable[[Path], State]:
    def state(folder: Path) -> State:
        if not (folder / name).exists():
            return {name: None}
        found = sorted(path for path in (folder / name).rglob("*") if path.is_file())
        return {name: tuple((str(path.relative_to(folder)), path.read_bytes()) for path in found)}

    return state


def logbook(folder: Path) -> State:
    """The rows, without times. A file without rows is as good as none."""
    path = folder / LOGBOOK
    if not path.exists() or path.stat().st_size == 0:
        return {LOGBOOK: None}
    database = sqlite3.connect(path)
    try:
        if database.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            return {LOGBOOK: "damaged"}
        if database.execute("PRAGMA application_id").fetchone() == (0,):
            made = database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
            return {LOGBOOK: None if made == 0 else "half of its tables"}
        notes = database.execute("SELECT kind, text, why FROM notes ORDER BY id").fetchall()
        runs = []
        for run in database.execute("SELECT id, verb, state, verdict, document FROM runs ORDER BY id"):
            names = [part for (part,) in database.execute("SELECT name FROM parts WHERE run = ?", run[:1])]
            document = json.loads(run[4]) if run[4] else None
            whole = (document is not None) == (run[2] == "done")
            runs.append((run[1], run[2], run[3], tuple(sorted(names)), whole))
        return {LOGBOOK: (tuple(notes), tuple(runs)) if notes or runs else None}
    finally:
        database.close()


def is_whole_logbook(_: object, found: object) -> bool:
    """A run under way may be there without its end, with those of its parts that were finished."""
    return found is None or (isinstance(found, tuple) and all(run[-1] for run in found[1]))


def joined(*parts: Callable[[Path], State]) -> Callable[[Path], State]:
    def state(folder: Path) -> State:
        return {name: value for part in parts for name, value in part(folder).items()}

    return state


def nothing(_: Path) -> State:
    return {}


def old(*names: str) -> Callable[[Tools], None]:
    def prepare(tools: Tools) -> None:
        for name in names:
            (tools.folder / name).write_text(OLD)

    return prepare


def with_logbook(tools: Tools) -> None:
    tools.call("log", "note", "the first")
    documents.put(tools.folder / LOGBOOK, documents.sweep(), documents.plateau(), documents.doctor())


def with_document(tools: Tools) -> None:
    (tools.given / "document.json").write_text(json.dumps(documents.sweep()))
    old("page.html")(tools)


def with_trace(*names: str) -> Callable[[Tools], None]:
    """A trace, and a program that leaves it as one of its own."""

    def prepare(tools: Tools) -> None:
        kept = tools.given / "traces"
        kept.mkdir()
        trace = TraceFile().tally(FALLBACK, "aten::_linalg_eigh", "train.py:3", count=4)
        for index in range(20):
            trace.step("train.py:9", index, 1 << 20)
        trace.write(kept)
        # Nothing fails in the program: it is not what is looked at.
        (tools.given / "program.sh").write_text(f'unset LD_PRELOAD; exec cp "{kept}/trace-4711.amt" "$ANYMPS_RUN/"\n')
        old(*names)(tools)

    return prepare


def with_kernel(*names: str) -> Callable[[Tools], None]:
    def prepare(tools: Tools) -> None:
        (tools.given / "add.metal").write_text(KERNEL)
        tools.call("metal", "compile", tools.given / "add.metal", "-o", tools.given / "add.metallib")
        shutil.rmtree(tools.folder / "cache", ignore_errors=True)
        old(*names)(tools)

    return prepare


def with_cache(tools: Tools) -> None:
    with_kernel()(tools)
    tools.call("metal", "run", tools.given / "add.metal", "add", "--threads", 4, "--arg", "iota:4")


def with_sweep(tools: Tools) -> None:
    (tools.given / "sweep.py").write_text(SWEPT)


CAPTURED = """
import sys, torch
kernel = torch.mps.compile_shader(open(sys.argv[1]).read()).add
with torch.mps.profiler.metal_capture(sys.argv[2]):
    kernel(torch.zeros(4, device="mps"))
"""


def with_capture(tools: Tools) -> None:
    with_kernel()(tools)
    words = [sys.executable, "-c", CAPTURED, tools.given / "add.metal", "step"]
    environment = tools.environment | {"MTL_CAPTURE_ENABLED": "1"}
    subprocess.run(words, env=environment, cwd=tools.given, check=True, timeout=300)
    (captured,) = tools.given.glob("*.gputrace")
    captured.rename(tools.given / "step.gputrace")
    shutil.rmtree(tools.folder / "cache", ignore_errors=True)


def logbook_of_measurements(folder: Path) -> State:
    """A verdict on times is another one now and then."""
    found = logbook(folder)[LOGBOOK]
    return {LOGBOOK: (found[0], tuple((*run[:2], *run[3:]) for run in found[1])) if isinstance(found, tuple) else found}


def measured(verb: str, words: str) -> Scenario:
    """A verb of the runbook on a script of a few steps, which leaves a row in the logbook."""
    return Scenario(
        verb, [*split(f"{verb} {words} --json --quiet -- {{python}}"), "{given}/sweep.py", "--batch-size", "2"],
        with_sweep, logbook_of_measurements, tolerated=r"logbook|tmp", again=(), heavy=True, measures=True, most=20,
        between={LOGBOOK: is_whole_logbook}, variables={"ANYMPS": "0"},
    )  # fmt: skip


COMPARED = """
import os, torch
model = torch.nn.Linear(4, 4).to(os.environ["DEVICE"])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    model(torch.ones(2, 4, device=os.environ["DEVICE"])).sum().backward()
    optimizer.step()
"""


def with_compared(tools: Tools) -> None:
    (tools.given / "compared.py").write_text(COMPARED)


def with_program(*names: str) -> Callable[[Tools], None]:
    def prepare(tools: Tools) -> None:
        (tools.given / "train.py").write_text(PROGRAM)
        old(*names)(tools)

    return prepare


def with_bundle(tools: Tools) -> None:
    with_program()(tools)
    pack = ("handoff", "pack", "-o", tools.given / "train.tar.zst", "--owner", "ada", "--quiet")
    tools.call(*pack, "--", sys.executable, tools.given / "train.py")
    for path in tools.folder.glob(LOGBOOK + "*"):
        path.unlink()


def with_pictures(tools: Tools, count: int = 6, size: int = 32) -> None:
    from pictures import write_pictures

    write_pictures(tools.given / "pictures", count, size)


def with_pairs(tools: Tools) -> None:
    with_pictures(tools)
    tools.call("sr", "pack", tools.given / "pictures", tools.given / "pairs.lmdb", "--scale", 2, "--quiet")
    settings = {
        "network": {"width": 4, "blocks": 1},
        "batch": 2,
        "crop": 8,
        "validation": 1,
        "checkpoint_every": 2,
        "validate_every": 3,
    }
    (tools.given / "config.json").write_text(json.dumps(settings))


def with_training(tools: Tools) -> None:
    """One that ended after its first checkpoint, as the second could not be written."""
    with_pairs(tools)
    tally = tools.given / "tally"
    tally.write_bytes(bytes(4096))
    second = {"CALL": "rename", "NTH": "3", "ERRNO": "28", "FOLDER": str(tools.folder), "TALLY": str(tally)}
    variables = {f"ANYMPS_FAULT_{name}": value for name, value in second.items()}
    tools.call(*train_words(tools.given), "--steps", 5, status=2, LD_PRELOAD=str(tools.library), **variables)


def with_model(*names: str) -> Callable[[Tools], None]:
    def prepare(tools: Tools) -> None:
        with_pairs(tools)
        tools.call(*train_words(tools.given), "--steps", 2)
        shutil.move(tools.folder / "run" / "model.safetensors", tools.given / "model.safetensors")
        shutil.rmtree(tools.folder / "run")
        old(*names)(tools)

    return prepare


def train_words(given: Path | str) -> list[str]:
    words = f"sr train --data {given}/pairs.lmdb --config {given}/config.json --out run --device cpu --log-every 1"
    return [*words.split(), "--workers", "0", "--quiet"]


def pack_state(tools_of: Callable[[Path], Tools]) -> Callable[[Path], State]:
    def state(folder: Path) -> State:
        tools = tools_of(folder)
        if not (folder / "pairs.lmdb").exists():
            return {"pairs.lmdb": 0}
        verified = tools.call("sr", "verify", "pairs.lmdb", "--json", "--quiet", status=None)
        if "nothing is packed into it yet" in verified.stderr:
            return {"pairs.lmdb": 0}
        if verified.returncode != 0:
            return {"pairs.lmdb": "damaged: " + verified.stderr}
        return {"pairs.lmdb": json.loads(verified.stdout)["pairs"]}

    return state


def training(folder: Path) -> State:
    """A log line may be cut by a failure; the training that goes on drops it."""
    run = folder / "run"
    found: State = {}
    for name in ("model.safetensors", "checkpoint.safetensors"):
        found[name] = (run / name).read_bytes() if (run / name).exists() else None
    lines = (run / "log.jsonl").read_text().splitlines() if (run / "log.jsonl").exists() else []
    steps = []
    for line in lines:
        try:
            steps.append(json.loads(line).get("step"))
        except ValueError:
            steps.append("cut")
    found["log.jsonl"] = tuple(steps)
    return found


def keeps_its_beginning(_: object, found: object) -> bool:
    """The lines up to the checkpoint of step 2; those behind it are made again."""
    return found[:3] == (0, 1, 2)


def is_whole_weights(_: object, found: object) -> bool:
    if found is None:
        return True
    length = int.from_bytes(found[:8], "little")
    header = json.loads(found[8 : 8 + length])
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return max(ends) + 8 + length == len(found)


def all_scenarios(tools_of: Callable[[Path], Tools]) -> list[Scenario]:
    return [
        Scenario("log note, first", ["log", "note", "kept"], old(), logbook, again=(), tolerated=r"logbook"),
        Scenario("log note", ["log", "note", "kept"], with_logbook, logbook, tolerated=r"logbook"),
        Scenario(
            "log reject", ["log", "reject", "x", "--why", "y", "--run", "1"], with_logbook, logbook,
            tolerated=r"logbook",
        ),
        Scenario("log list", ["log"], with_logbook, logbook, tolerated=r"logbook"),
        Scenario("log show", ["log", "show", "last", "--json"], with_logbook, logbook, tolerated=r"logbook"),
        Scenario("log diff", ["log", "diff", "1", "2"], with_logbook, logbook, tolerated=r"logbook"),
        Scenario("log export", ["log", "export"], with_logbook, logbook, tolerated=r"logbook"),
        Scenario("log export csv", ["log", "export", "--format", "csv"], with_logbook, logbook, tolerated=r"logbook"),
        Scenario("log readme", ["log", "readme", "1"], with_logbook, logbook, tolerated=r"logbook"),
        Scenario("log notes", ["log", "notes"], with_logbook, logbook, tolerated=r"logbook"),
        Scenario(
            "report --from", ["report", "--from", "{given}/document.json", "-o", "page.html"], with_document,
            files("page.html"),
        ),
        Scenario(
            "report --last", ["report", "--last", "--json"], with_logbook, joined(files("report.html"), logbook),
            tolerated=r"logbook",
        ),
        Scenario(
            "run --json", ["run", "--json", "figures.json", "--", "sh", "{given}/program.sh"],
            with_trace("figures.json"), files("figures.json"), tolerated=PASSING,
        ),
        Scenario(
            "run --keep", ["run", "--keep", "kept", "--", "sh", "{given}/program.sh"], with_trace(),
            files("kept/summary.json"), tolerated=PASSING,
        ),
        Scenario(
            "check --from",
            [
                *split("check --fail-on never --from {given}/traces --json a.json --sarif a.sarif --junit a.xml"),
                *split("--html a.html --write-baseline a.tsv"),
            ],
            with_trace("a.json", "a.html"), files("a.json", "a.sarif", "a.xml", "a.html", "a.tsv"),
        ),
        Scenario(
            "check", ["check", "--fail-on", "never", "--json", "-", "--", "sh", "{given}/program.sh"], with_trace(),
            nothing, tolerated=PASSING,
        ),
        Scenario(
            "trace", ["trace", "-o", "t.json", "--json", "u.json", "--", "sh", "{given}/program.sh"],
            with_trace("t.json"), files("t.json", "u.json"), tolerated=PASSING,
        ),
        Scenario(
            "size", ["size", "--json", "s.json", "--html", "s.html", "--", "sh", "{given}/program.sh"],
            with_trace("s.html"), whole_files("s.json", "s.html"), tolerated=PASSING, measures=True,
        ),
        Scenario("coverage", ["coverage", "torch.linalg.eigh"], old(), nothing),
        Scenario("coverage --lacking", ["coverage", "--lacking", "2.13"], old(), nothing),
        Scenario("macs", ["macs", "--json"], old(), nothing),
        Scenario("completion", ["completion", "bash"], old(), nothing),
        Scenario("help", ["--help"], old(), nothing),
        Scenario("cache info", ["cache", "info"], with_kernel(), nothing),
        # What Python keeps in passing is Python's affair, and `env` tells of a Python that fails.
        Scenario("env", ["env"], old(), nothing, variables={"TMPDIR": "/tmp"}),
        # A cache that cannot be read counts as empty: what it frees is no result.
        Scenario("cache trim", ["cache", "trim", "--to", "0"], with_cache, nothing, tolerated=r"cache", measures=True),
        Scenario("cache clear", ["cache", "clear"], with_cache, nothing, tolerated=r"cache", measures=True),
        Scenario(
            "metal compile", ["metal", "compile", "{given}/add.metal", "-o", "add.metallib"],
            with_kernel("add.metallib"), files("add.metallib"), tolerated=r"cache|tmp",
        ),
        Scenario("metal list", ["metal", "list", "{given}/add.metallib"], with_kernel(), nothing, tolerated=r"cache"),
        Scenario("metal disasm", ["metal", "disasm", "{given}/add.metallib", "add"], with_kernel(), nothing),
        Scenario("metal verify", ["metal", "verify", "{given}/add.metallib"], with_kernel(), nothing),
        Scenario(
            "metal run", ["metal", "run", "{given}/add.metal", "add", "--threads", "4", "--arg", "iota:4"],
            with_kernel(), nothing, tolerated=r"cache",
        ),
        Scenario("metal check", ["metal", "check", "{given}/add.metallib"], with_kernel(), nothing, tolerated="cache"),
        Scenario(
            "handoff pack",
            ["handoff", "pack", "-o", "t.tar.zst", "--owner", "ada", "--quiet", "--", "{python}", "{given}/train.py"],
            with_program("t.tar.zst", "t.tar.zst.sha256"),
            joined(bundle(tools_of), logbook), tolerated=r"logbook|t\.tar\.zst",
            between={LOGBOOK: is_whole_logbook}, again=(), heavy=True, measures=True,
        ),
        Scenario(
            "handoff verify", [*split("handoff verify {given}/train.tar.zst --into there --quiet --python {python}")],
            with_bundle, joined(tree("there"), logbook), tolerated=r"logbook",
            between={LOGBOOK: is_whole_logbook}, heavy=True,
            status=1,  # the preloaded library is a difference that matters
        ),
        Scenario(
            "sr pack", ["sr", "pack", "{given}/pictures", "pairs.lmdb", "--scale", "2", "--quiet"], with_pictures,
            pack_state(tools_of), again=("pairs.lmdb",), heavy=True, tolerated=r"pairs\.lmdb",
            between={"pairs.lmdb": lambda _, found: isinstance(found, int)},
        ),
        Scenario(
            "doctor", ["doctor", "--quiet", "--json"], old(), logbook, tolerated=r"logbook|tmp",
            between={LOGBOOK: is_whole_logbook}, again=(), heavy=True, measures=True, status=None,
        ),
        Scenario(
            "sweep",
            [
                *split("sweep --batch-arg --batch-size --to 1 --steps 5 --verify-steps 5 --json --quiet -- {python}"),
                "{given}/sweep.py",
            ],
            with_sweep, logbook, tolerated=r"logbook|tmp", between={LOGBOOK: is_whole_logbook}, again=(), heavy=True,
            measures=True, variables={"ANYMPS": "0"},
        ),
        Scenario(
            "replay", ["replay", "{given}/step.gputrace", "--json"], with_capture, nothing, tolerated=r"cache|tmp",
        ),
        measured("plateau", "--epochs 3 --epoch-steps 3 --no-sites --threshold 1000"),
        measured("profile", "--steps 5 --warm-up 1 --input-limit 1 --waits-limit 1000 --fallback-limit 1"),
        Scenario(
            "parity",
            [
                *split("parity --devices cpu,mps --device-env DEVICE --steps 2 --table t.tsv --update --json --quiet"),
                *split("-- {python} {given}/compared.py"),
            ],
            with_compared, joined(logbook, files("t.tsv")), tolerated=r"logbook|tmp|cache", again=(), heavy=True,
            measures=True, most=20, between={LOGBOOK: is_whole_logbook},
        ),
        Scenario("sr verify", ["sr", "verify", "{given}/pairs.lmdb", "--quiet"], with_pairs, nothing, heavy=True),
        Scenario(
            "sr info", ["sr", "info", "{given}/pairs.lmdb", "--json"], with_pairs, nothing, heavy=True,
        ),
        Scenario(
            "sr convert", ["sr", "convert", "{given}/model.safetensors", "m.pth", "--overwrite"], with_model("m.pth"),
            files("m.pth"), heavy=True,
        ),
        Scenario(
            "sr upscale",
            [*split("sr upscale {given}/model.safetensors {given}/pictures/000.png big.png --device cpu"), "--quiet"],
            with_model(), files("big.png"), heavy=True,
        ),
        Scenario(
            "sr train", [*train_words("{given}"), "--steps", "5"], with_training, training,
            again=("checkpoint.safetensors", "model.safetensors"), heavy=True,
            tolerated=r"run$|run/(checkpoint\.safetensors|log\.jsonl)$",  # closed after they were read
            between={
                "log.jsonl": keeps_its_beginning,
                "checkpoint.safetensors": is_whole_weights,
                "model.safetensors": is_whole_weights,
            },
        ),
    ]  # fmt: skip
