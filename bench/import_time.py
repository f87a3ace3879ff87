"""How much slower `import torch` gets: ANYMPS=1 against ANYMPS=0, in processes of their own.

    python bench/import_time.py               20 rounds
    python bench/import_time.py --rounds 60   a narrower interval
    python bench/import_time.py --python ENVIRONMENT/bin/python   the PyTorch and the anymps of another environment

Both sides of a round run next to each other in random order, after one unmeasured start each to warm the page cache.
The target is a median ratio of at most 1.05.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys

import stats

TARGET = 1.05
# Timed inside the process: what the interpreter's own start costs is not the import's.
SCRIPT = "import time; t = time.perf_counter(); import torch; print(time.perf_counter() - t)"


def once(python: str, anymps: str) -> float:
    env = dict(os.environ, ANYMPS=anymps)
    return float(subprocess.run([python, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="pairs of processes (default: 20)")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to import with (default: this one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()

    rng, times = random.Random(0), {"1": [], "0": []}
    for side in times:
        once(options.python, side)
    for _ in range(options.rounds):
        for side in rng.sample(("1", "0"), 2):
            times[side].append(once(options.python, side))
    ratio = stats.paired_ratio(times["1"], times["0"])
    with_it, without = (1e3 * statistics.median(times[side]) for side in ("1", "0"))
    if options.json:
        print(json.dumps({"with_ms": with_it, "without_ms": without, "ratio": ratio.median, "low": ratio.low,
                          "high": ratio.high, "target": TARGET}))  # fmt: skip
    else:
        print(
            f"import torch: {with_it:.0f} ms with anymps, {without:.0f} ms without; ratio {ratio.median:.3f} "
            f"[{ratio.low:.3f}, {ratio.high:.3f}], target <= {TARGET}: {'met' if ratio.median <= TARGET else 'missed'}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
