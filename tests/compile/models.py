"""Holds models compiled on mps against the same models without torch.compile: losses, gradients, and one step.

    python tests/compile/models.py                          the tour of tests/models, and families of transformers
    python tests/compile/models.py --models 'tour .*unet'   those whose kind and name match
    python tests/compile/models.py --slice 1/10 --jobs 2    every tenth, for CI
    python tests/compile/models.py --table docs/compile-models.tsv

Families are those of tests/check/families.txt and need the package transformers; without it they are said to be left
out. Each model runs in a worker process: a crash is the outcome of one model.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))

import shepherd  # noqa: E402 - it lives next door

WORKER = [sys.executable, str(HERE / "models_worker.py")]
BATCH = 8  # models per process


def list_models(options, env: dict[str, str]) -> list[str]:
    done = subprocess.run([*WORKER, "--list"], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-3000:])
    models = json.loads(done.stdout.splitlines()[-1])
    if importlib.util.find_spec("transformers") is None:
        print("transformers is not installed: its families are left out", file=sys.stderr)
        models = [model for model in models if not model.startswith("family ")]
    if options.models:
        models = [model for model in models if re.search(options.models, model)]
    if options.slice:
        models = models[options.slice]
    return models


def known_causes() -> dict[tuple[str, str], str]:
    """What is not equal, and why: by model and outcome. A model that no longer ends so is reported."""
    with open(HERE / "known_models.tsv", newline="") as file:
        return {(f"{x['kind']} {x['name']}", x["outcome"]): x["cause"] for x in csv.DictReader(file, delimiter="\t")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", metavar="REGEX", help="only models whose kind and name match")
    parser.add_argument("--slice", type=shepherd.slice_of, metavar="K/N", help="only every Nth model, from the Kth on")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (default: 1)")
    parser.add_argument("--limit-s", type=float, default=600, help="seconds per model (default: 600)")
    parser.add_argument("--table", type=Path, metavar="OUT", help="write one line per model there")
    options = parser.parse_args()

    # Graphs that were made with another build of the device must not come back from Inductor's cache.
    # One family has an operator that a Mac lacks.
    env = dict(
        os.environ,
        OMP_NUM_THREADS="1",
        TORCHINDUCTOR_FORCE_DISABLE_CACHES="1",
        PYTORCH_ENABLE_MPS_FALLBACK="1",
        PYTHONWARNINGS="ignore",
    )
    models = list_models(options, env)
    if not models:
        raise SystemExit("no model matches")
    lines, bad, known = [], [], known_causes()

    def report(model: str, answer: dict) -> None:
        cause = known.get((model, answer["outcome"]))
        answer["detail"] = cause or answer["detail"]
        shown = (*model.split(), answer["outcome"], str(answer.get("graphs", "")), answer["detail"])
        lines.append("\t".join(shown))
        print(f"{len(lines):3} of {len(models)}  {model:32} {answer['outcome']:8} {answer['seconds']:5.0f} s  ", end="")
        print(answer["detail"][:200], flush=True)
        expected = {outcome for name, outcome in known if name == model} or {"equal"}
        if answer["outcome"] not in expected:
            bad.append(model)

    batches = [(WORKER, models[i : i + BATCH]) for i in range(0, len(models), BATCH)]
    shepherd.herd(batches, options.jobs, options.limit_s, shepherd.memory_limit_gib(options.jobs), report, env)
    equal = sum(line.split("\t")[2] == "equal" for line in lines)
    print(f"{equal} of {len(models)} are equal; otherwise than expected: {', '.join(bad) or 'none'}")
    if options.table:
        header = "kind\tname\toutcome\tgraphs\tlargest difference, of its tensor's largest element"
        options.table.write_text("\n".join([header, *sorted(lines)]) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
