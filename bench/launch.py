"""How long a launch of one threadgroup of 32 threads takes that does next to nothing.

    python bench/launch.py                 the table
    python bench/launch.py --rounds 200    a narrower interval
    python bench/launch.py --json          for machines

Builds bench/cpp/launch.cpp. "Tiered" is what torch.mps.compile_shader gives: it looks for the form for a launch's
values, too. What PyTorch and Python add is not in it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

import cpp_program
import stats

TARGET_NS = 3000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true", help="print one JSON list instead of the table")
    options = parser.parse_args()
    program = cpp_program.build("bench_launch")
    printed = subprocess.run([program, str(options.rounds)], capture_output=True, text=True, check=True).stdout
    times: dict[str, list[float]] = {}
    for line in printed.splitlines():
        name, nanoseconds = line.split()
        times.setdefault(name.replace(",", ", "), []).append(float(nanoseconds))
    rows = []
    for name, values in times.items():
        ratio = stats.paired_ratio(values, [TARGET_NS] * len(values))
        rows.append({"name": name, "ns": statistics.median(values), "low": ratio.low * TARGET_NS,
                     "high": ratio.high * TARGET_NS, "target": TARGET_NS,
                     "verdict": stats.verdict(ratio, 1.0)})  # fmt: skip
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    print(f"{'':18} {'ns':>6}  95% interval   target")
    for row in rows:
        print(f"{row['name']:18} {row['ns']:6.0f}  [{row['low']:.0f}, {row['high']:.0f}]  <= {row['target']}  "
              f"{row['verdict']}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
