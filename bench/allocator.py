"""How long taking and freeing a block of the device's memory takes, against malloc, in one run.

    python bench/allocator.py              the table
    python bench/allocator.py --rounds 200 a narrower interval
    python bench/allocator.py --json       for machines

Builds bench/cpp/allocator.cpp and makes ratios of what it prints. 64 MiB is touched page by page, as the first use of
a result would; malloc takes such a block from the system each time, and the device from its cache.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

import cpp_program
import stats

# What the ratio must stay below: three times malloc's time for small blocks, a third of it for large ones.
TARGETS = {4096: ("4 KiB", 3.0), 1 << 20: ("1 MiB", 3.0), 64 << 20: ("64 MiB, touched", 1 / 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true", help="print one JSON list instead of the table")
    options = parser.parse_args()
    lines = subprocess.run(
        [cpp_program.build("bench_allocator"), str(options.rounds)], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    samples = [
        (int(size), float(ours), float(theirs)) for size, ours, theirs in (line.split() for line in lines if line)
    ]
    rows = []
    for size, (name, target) in TARGETS.items():
        ours, theirs = zip(*((a, b) for s, a, b in samples if s == size), strict=True)
        ratio = stats.paired_ratio(list(ours), list(theirs))
        rows.append(
            {
                "name": name,
                "ours_ns": sorted(ours)[len(ours) // 2],
                "malloc_ns": sorted(theirs)[len(theirs) // 2],
                "ratio": ratio.median,
                "low": ratio.low,
                "high": ratio.high,
                "target": target,
                "verdict": stats.verdict(ratio, target),
            }
        )
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    print(f"{'':16} {'ours, ns':>11} {'malloc, ns':>11}   ratio  95% interval    target")
    for row in rows:
        print(
            f"{row['name']:16} {row['ours_ns']:11.0f} {row['malloc_ns']:11.0f}   {row['ratio']:5.3f}  "
            f"[{row['low']:.3f}, {row['high']:.3f}]  <= {row['target']:.2f}  {row['verdict']}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
