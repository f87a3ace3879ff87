"""How long a trace of a million events takes to write in Chrome's format, against Python's json on the same events.

    python bench/trace_writer.py                    the table
    python bench/trace_writer.py --events 100000    fewer events
    python bench/trace_writer.py --json             for machines

Builds bench/cpp/trace_writer.cpp. What it wrote is read once with Python's json and written again, in rounds: with
`json.dump`, as programs do that keep their own traces, and with `json.dumps`, whose text is built in memory by C code.
Both without blanks. All sides write to the same folder.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cpp_program
import stats

TARGET = 1.0
TARGET_BYTES = 200_000_000
COMPACT = (",", ":")


class Writer:
    """The program, which writes the trace each time that it is told."""

    def __init__(self, path: Path, events: int):
        command = [cpp_program.build("bench_trace_writer"), path, str(events)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.extra_kib = 0

    def write(self) -> float:
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        seconds, kib = self.child.stdout.readline().split()
        self.extra_kib = int(kib)
        return float(seconds)

    def close(self) -> None:
        self.child.stdin.close()
        self.child.wait()


def timed(work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    options = parser.parse_args()
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "ours.json"), Path(folder, "theirs.json")
        writer = Writer(ours, options.events)
        writer.write()
        size = ours.stat().st_size
        document = json.loads(ours.read_text())

        def dump():
            with theirs.open("w") as file:
                json.dump(document, file, separators=COMPACT)

        sides = {
            "anymps": writer.write,
            "json.dump": lambda: timed(dump),
            "json.dumps": lambda: timed(lambda: theirs.write_text(json.dumps(document, separators=COMPACT))),
        }
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(options.rounds):
            for name in rng.sample(sorted(sides), len(sides)):
                seconds[name].append(sides[name]())
        their_size = theirs.stat().st_size
        writer.close()
    rows = []
    for name in ("json.dump", "json.dumps"):
        ratio = stats.paired_ratio(seconds["anymps"], seconds[name])
        rows.append({"against": name, "ours_s": statistics.median(seconds["anymps"]),
                     "theirs_s": statistics.median(seconds[name]), "ratio": ratio.median, "low": ratio.low,
                     "high": ratio.high, "target": TARGET, "verdict": stats.verdict(ratio, TARGET)})  # fmt: skip
    if options.json:
        print(json.dumps({"times": rows, "bytes": size, "their_bytes": their_size, "extra_kib": writer.extra_kib,
                          "target_bytes": TARGET_BYTES}, indent=1))  # fmt: skip
        return 0
    print(f"{options.events:,} events   {'ours, s':>8} {'theirs, s':>10}   ratio  95% interval    target")
    for row in rows:
        print(f"{'against ' + row['against']:20} {row['ours_s']:8.2f} {row['theirs_s']:10.2f}   {row['ratio']:5.3f}  "
              f"[{row['low']:.3f}, {row['high']:.3f}]  <= {TARGET}  {row['verdict']}")  # fmt: skip
    said = "met" if size <= TARGET_BYTES else "missed"
    print(f"file {size / 1e6:.1f} MB (target {TARGET_BYTES / 1e6:.0f}: {said}), Python's {their_size / 1e6:.1f} MB; "
          f"writing takes {writer.extra_kib / 1024:.1f} MiB of memory beside the events")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
