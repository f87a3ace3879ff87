"""Instructions per operator call, mps against cpu, under valgrind: the twin of run.py that no neighbour can disturb.

    python bench/instructions.py              all operators
    python bench/instructions.py --only view

Each figure is the difference between a run with many calls and one with few, so that start-up cancels out. Needs
valgrind. Takes a minute or two per operator: `import torch` is slow under it.
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
FEW, MANY = 100, 600

CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import torch
import pairs
torch.set_num_threads(1)
work = next(w for w in pairs.WORKLOADS if w.name == sys.argv[2]).make(sys.argv[3])
for _ in range(int(sys.argv[4])):
    work()
"""


def instructions(name: str, device: str, calls: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable, "-c", CHILD]
        env = dict(os.environ, OMP_NUM_THREADS="1", PYTHONHASHSEED="0")  # the same hashes give the same instructions
        done = subprocess.run(
            [*command, str(HERE), name, device, str(calls)], env=env, capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        raise SystemExit(f"valgrind failed for {name} on {device}:\n{done.stderr[-2000:]}")
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def per_call(name: str, device: str) -> float:
    return (instructions(name, device, MANY) - instructions(name, device, FEW)) / (MANY - FEW)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="operators whose name contains this")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed")
    from pairs import OPERATOR, WORKLOADS

    rows = []
    for name in [w.name for w in WORKLOADS if w.kind == OPERATOR and options.only in w.name]:
        mps, cpu = per_call(name, "mps"), per_call(name, "cpu")
        rows.append({"name": name, "mps": mps, "cpu": cpu, "ratio": mps / cpu})
        if not options.json:
            print(f"{name:18} mps {mps:9.0f}   cpu {cpu:9.0f}   ratio {mps / cpu:.3f}", flush=True)
    if options.json:
        print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
