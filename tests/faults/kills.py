"""Kills verbs at random moments, with SIGKILL, and looks at what is left: nothing is lost but the step under way.

    python tests/faults/kills.py --kills 100                  every loop
    python tests/faults/kills.py --kills 20 --only train

A loop is killed and started again in the same folder, until it was killed so often; then it is let to its end, which is
compared with that of one that was never killed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from inject import LIBRARY, Laboratory
from scenarios import is_whole_weights, train_words, with_pairs, with_pictures, with_trace
from scripts import SWEPT


class Loop:
    """A verb, or several of them in turn; `look` is called after each kill and returns what is wrong."""

    def __init__(self, laboratory: Laboratory, chance: random.Random) -> None:
        place = laboratory.folder / type(self).__name__
        self.folder, self.given = place / "base", place / "given"
        for path in (self.folder / "tmp", self.given):
            path.mkdir(parents=True)
        self.chance = chance
        self.anymps = laboratory.anymps
        self.environment = laboratory.environment(self.folder) | {"ANYMPS": "0"}
        self.tools = laboratory.tools(self.folder, self.given)
        self.kills = 0
        self.prepare()
        self.lasts = self.seconds()

    def prepare(self) -> None: ...

    def words(self) -> list[str]:
        raise NotImplementedError

    def seconds(self) -> float:
        """How long a call takes that is not killed; kills come within that."""
        return 1.0

    def look(self, output: str, status: int) -> str | None:
        raise NotImplementedError

    def end(self) -> str | None:
        """After the last kill."""
        return None

    def once(self) -> str | None:
        """One kill, or several calls that were over too soon for one."""
        while True:
            process = subprocess.Popen(
                self.words(), env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                stdin=subprocess.DEVNULL, text=True, start_new_session=True,
            )  # fmt: skip
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.chance.uniform(0, self.lasts))
            was_killed = process.poll() is None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output = process.communicate()[0]
            self.kills += was_killed
            complaint = self.look(output, process.returncode)
            if complaint or was_killed:
                return complaint

    def call(self, *words, status: int | None = 0) -> subprocess.CompletedProcess:
        return self.tools.call(*words, status=status)

    def rows(self, question: str) -> list[tuple]:
        database = sqlite3.connect(self.folder / "logbook.sqlite")
        try:
            return database.execute(question).fetchall()
        finally:
            database.close()

    def damage(self) -> str | None:
        if (self.folder / "logbook.sqlite").exists() and self.rows("PRAGMA integrity_check") != [("ok",)]:
            return "the logbook is damaged"
        return None


class Log(Loop):
    """`anymps log note`: what was told as written is there."""

    def prepare(self) -> None:
        self.call("log", "note", "0")
        self.number = 0
        self.told = {"0"}

    def seconds(self) -> float:
        began = time.monotonic()
        self.call("log", "list")
        return 1.5 * (time.monotonic() - began)

    def words(self) -> list[str]:
        self.number += 1
        return [self.anymps, "log", "note", str(self.number), "--json"]

    def look(self, output: str, status: int) -> str | None:
        if status == 0 or '"notes"' in output:
            self.told.add(str(self.number))
        there = [text for (text,) in self.rows("SELECT text FROM notes")]
        if len(there) != len(set(there)) or not self.told <= set(there):
            return f"notes are lost: {sorted(self.told - set(there))}"
        return self.damage()


class Sweep(Loop):
    """`anymps sweep`: a point that was finished is not measured again."""

    MOST = 8

    def prepare(self) -> None:
        (self.given / "train.py").write_text(SWEPT)
        self.parts = 0

    def words(self) -> list[str]:
        options = f"sweep --batch-arg --batch-size --to {self.MOST} --steps 5 --verify-steps 8 --json --quiet"
        return [self.anymps, *options.split(), "--", "python", str(self.given / "train.py")]

    def seconds(self) -> float:
        return 4.0

    def look(self, output: str, status: int) -> str | None:
        if not (self.folder / "logbook.sqlite").exists():
            return None
        with contextlib.suppress(sqlite3.OperationalError):  # its tables are not there yet
            ((parts,),) = self.rows("SELECT COUNT(*) FROM parts")
            if parts < self.parts:
                return f"{self.parts - parts} points are lost"
            self.parts = parts
        return self.damage()

    def end(self) -> str | None:
        subprocess.run(self.words(), env=self.environment, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        done = self.rows("SELECT COUNT(*) FROM runs WHERE state = 'done'")[0][0]
        parts = self.rows("SELECT COUNT(*) FROM parts")[0][0]
        runs = len((self.given / "runs.txt").read_text().split())
        # Each finished point ran once or twice (for longer); each kill may cost the one that was at work.
        if done < 1 or runs > 2 * parts + self.kills:
            return f"{done} finished runs, {runs} trials for {parts} points and {self.kills} kills"
        return self.damage()


class Pack(Loop):
    """`anymps sr pack`: pairs that were packed stay, and the end is that of a pack that was not killed."""

    def prepare(self) -> None:
        with_pictures(self.tools, 60, 64)
        self.pairs = 0

    def words(self) -> list[str]:
        return [self.anymps, "sr", "pack", str(self.given / "pictures"), "pairs.lmdb", "--scale", "2", "--quiet"]

    def seconds(self) -> float:
        began = time.monotonic()
        self.call("sr", "pack", self.given / "pictures", self.given / "whole.lmdb", "--scale", 2, "--quiet")
        return 1.1 * (time.monotonic() - began)

    def look(self, output: str, status: int) -> str | None:
        if not (self.folder / "pairs.lmdb").exists():
            return None if self.pairs == 0 else "the database is gone"
        verified = self.call("sr", "verify", "pairs.lmdb", "--json", "--quiet", status=None)
        if "nothing is packed into it yet" in verified.stderr and self.pairs == 0:
            return None
        if verified.returncode != 0:
            return verified.stderr
        pairs = json.loads(verified.stdout)["pairs"]
        if pairs < self.pairs:
            return f"{self.pairs - pairs} pairs are lost"
        self.pairs = pairs
        if pairs == 60:  # begin anew
            self.pairs = 0
            for path in self.folder.glob("pairs.lmdb*"):
                path.unlink()
        return None

    def end(self) -> str | None:
        self.call(*self.words()[1:])
        one, other = (
            json.loads(self.call("sr", "info", path, "--json").stdout)
            for path in ("pairs.lmdb", self.given / "whole.lmdb")
        )
        same = all(one[name] == other[name] for name in ("pairs", "files", "skipped", "settings"))
        return None if same else f"{one} is not {other}"


class Train(Loop):
    """`anymps sr train`: goes on from its checkpoint, to the bit."""

    STEPS = 60

    def prepare(self) -> None:
        with_pairs(self.tools)
        self.call(*self.words()[1:])
        whole = self.folder / "run"
        self.model = (whole / "model.safetensors").read_bytes()
        whole.rename(self.given / "whole")
        self.step = 0

    def words(self) -> list[str]:
        return [self.anymps, *train_words(self.given), "--steps", str(self.STEPS)]

    def seconds(self) -> float:
        return 3.0

    def look(self, output: str, status: int) -> str | None:
        checkpoint, model = (self.folder / "run" / f"{name}.safetensors" for name in ("checkpoint", "model"))
        for path in (checkpoint, model):
            if path.exists() and not is_whole_weights(None, path.read_bytes()):
                return f"{path.name} is not whole"
        if not checkpoint.exists():
            return None if self.step == 0 else "the checkpoint is gone"
        content = checkpoint.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        step = int(header["__metadata__"]["step"])
        if step < self.step:
            return f"step {step} after step {self.step}"
        self.step = step
        if status == 0:
            return self.finished()
        return None

    def finished(self) -> str | None:
        run = self.folder / "run"
        if (run / "model.safetensors").read_bytes() != self.model:
            return "the model is another than that of a training that was not killed"
        steps = {json.loads(line)["step"] for line in (run / "log.jsonl").read_text().splitlines()}
        lost = set(range(1, self.STEPS + 1)) - steps
        if lost:
            return f"the log lacks steps {sorted(lost)}"
        for path in run.iterdir():
            path.unlink()
        run.rmdir()
        self.step = 0
        return None

    def end(self) -> str | None:
        self.call(*self.words()[1:])
        return self.finished()


class Matrix(Loop):
    """`anymps run --json` for one Mac after the other, in a shell's loop: each file is there whole or not at all."""

    MACS = ("m1-8gb", "m1-16gb", "m2-8gb", "m2-24gb", "m3-16gb", "m4-16gb")

    def prepare(self) -> None:
        with_trace()(self.tools)

    def words(self) -> list[str]:
        line = f'"{self.anymps}" run --quiet --mac $mac --json $mac.json -- sh "{self.given}/program.sh" || exit 1'
        return ["sh", "-c", f"for mac in {' '.join(self.MACS)}; do {line}; done; echo done"]

    def seconds(self) -> float:
        began = time.monotonic()
        subprocess.run(self.words(), env=self.environment, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        return 1.1 * (time.monotonic() - began)

    def look(self, output: str, status: int) -> str | None:
        for mac in self.MACS:
            try:
                json.loads((self.folder / f"{mac}.json").read_text())["run"]
            except (OSError, ValueError, KeyError) as error:
                return f"{mac}.json: {error!r}"
        return None


LOOPS = (Log, Sweep, Pack, Train, Matrix)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of each loop")
    parser.add_argument("--only", default="", help="loops whose name matches")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--library", type=Path, default=LIBRARY)
    parser.add_argument("--anymps", default=str(Path(sys.executable).parent / "anymps"))
    options = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory(prefix="anymps-kills-") as folder:
        laboratory = Laboratory(Path(folder), options.anymps, options.library.resolve())
        for kind in LOOPS:
            if not re.search(options.only, kind.__name__, re.IGNORECASE):
                continue
            began = time.monotonic()
            loop = kind(laboratory, random.Random(options.seed))
            complaints = []
            while loop.kills < options.kills and len(complaints) < 10:
                if complaint := loop.once():
                    complaints.append(f"after kill {loop.kills}: {complaint}")
            if complaint := loop.end():
                complaints.append(complaint)
            found += len(complaints)
            print(
                f"{kind.__name__}: {loop.kills} kills in {time.monotonic() - began:.0f} s, {len(complaints)} findings"
            )
            print("".join(f"  {complaint}\n" for complaint in complaints), end="", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
