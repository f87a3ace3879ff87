"""Instructions per operator call, mps against cpu, under valgrind: the twin of run.py that no neighbour can disturb.

    python bench/instructions.py              all operators
    python bench/instructions.py --only view

Each figure is the difference between many calls and few, so that what surrounds the loop cancels out. Needs valgrind.
Takes some minutes: `import torch` alone takes one under it, once per device.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FEW, MANY = 50, 250

# Counting is off while torch is imported. Each dump also sets the counters back to zero.
CHILD = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import torch
import pairs

def control(*arguments):
    subprocess.run(["callgrind_control", *arguments, str(os.getpid())], check=True, stdout=subprocess.DEVNULL)

torch.set_num_threads(1)
for name in sys.argv[4:]:
    work = next(w for w in pairs.WORKLOADS if w.name == name).make(sys.argv[2])
    for calls in map(int, sys.argv[3].split(",")):
        work()
        control("--instr=on")
        for _ in range(calls):
            work()
        control("--instr=off")
        control(f"--dump={name}:{calls}")
"""


def totals(folder: Path) -> dict[str, int]:
    """{'name:calls': instructions} from callgrind's dumps."""
    found = {}
    for dump in folder.glob("out.*"):
        text = dump.read_text(errors="replace")
        trigger = re.search(r"^desc: Trigger: dump (.*)$", text, re.M)
        count = re.search(r"^totals: (\d+)", text, re.M)  # the summary at the top says 0 where counting was off by then
        if trigger and count:
            found[trigger.group(1).strip()] = int(count.group(1))
    return found


def count(
    names: list[str], device: str, calls: tuple[int, int] = (FEW, MANY), environment: dict[str, str] | None = None
) -> dict[str, float]:
    """Instructions per call."""
    few, many = calls
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        # The same hashes give the same instructions.
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **(environment or {})}
        done = subprocess.run(
            [*command, sys.executable, "-c", CHILD, str(HERE), device, f"{few},{many}", *names],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"valgrind failed on {device}:\n{done.stderr[-2000:]}")
        found = totals(Path(folder))
    return {name: (found[f"{name}:{many}"] - found[f"{name}:{few}"]) / (many - few) for name in names}


def need_valgrind(parser: argparse.ArgumentParser) -> None:
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        parser.error("valgrind (with callgrind_control) is not installed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="operators whose name contains this")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    need_valgrind(parser)
    from pairs import OPERATOR, WORKLOADS

    names = [w.name for w in WORKLOADS if w.kind == OPERATOR and options.only in w.name]
    if not names:
        parser.error(f"no operator's name contains {options.only!r}")
    mps, cpu = count(names, "mps"), count(names, "cpu")
    rows = [{"name": n, "mps": mps[n], "cpu": cpu[n], "ratio": mps[n] / cpu[n]} for n in names]
    if options.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(f"{row['name']:18} mps {row['mps']:9.0f}   cpu {row['cpu']:9.0f}   ratio {row['ratio']:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
