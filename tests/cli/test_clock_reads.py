"""Where sources measure a time, as `anymps check` reads them."""

import json
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "python" / "anymps" / "_clock_reads.py"

# A source, and the first and last line of each interval in it.
SOURCES = {
    "directly": ("import time\nstart = time.time()\nf()\nprint(time.time() - start)\n", [(2, 4)]),
    "by a second variable": (
        "import time\nstart = time.perf_counter()\nf()\nend = time.perf_counter()\ng()\nprint(end - start)\n",
        [(2, 4)],
    ),
    "imported by name": ("from time import perf_counter\na = perf_counter()\nf()\nb = perf_counter() - a\n", [(2, 4)]),
    "renamed": ("from time import monotonic_ns as p\na = p()\nf()\nb = p() - a\n", [(2, 4)]),
    "renamed module": ("import time as t\na = t.monotonic()\nf()\nb = t.monotonic() - a\n", [(2, 4)]),
    "star": ("from time import *\na = perf_counter_ns()\nb = perf_counter_ns() - a\n", [(2, 3)]),
    "timeit": ("import timeit\na = timeit.default_timer()\nb = timeit.default_timer() - a\n", [(2, 3)]),
    "datetime": (
        "from datetime import datetime\na = datetime.now()\nf()\nb = (datetime.now() - a).total_seconds()\n",
        [(2, 4)],
    ),
    "datetime's module": (
        "import datetime\na = datetime.datetime.now()\nb = datetime.datetime.now() - a\n",
        [(2, 3)],
    ),
    "attribute": (
        "import time\nclass T:\n  def run(self):\n    self.a = time.time()\n    f()\n    return time.time() - self.a\n",
        [(4, 6)],
    ),
    "in a function": ("import time\ndef f():\n  a = time.time()\n  g()\n  return time.time() - a\n", [(3, 5)]),
    "the latest reading": (
        "import time\na = time.time()\nf()\na = time.time()\ng()\nb = time.time() - a\n",
        [(4, 6)],
    ),
    "the variable is its own difference": ("import time\na = time.time()\nf()\na = time.time() - a\n", [(2, 4)]),
    "rolling": (
        "import time\nlast = time.time()\nwhile go():\n  f()\n  now = time.time()\n  d = now - last\n  last = now\n",
        [(2, 5)],
    ),
    "walrus and sum": ("import time\nif (a := time.time()):\n  s = 0\n  s += time.time() - a\n", [(2, 4)]),
    "pair": ("import time\na, n = time.time(), 0\nf()\nb = time.time() - a\n", [(2, 4)]),
    "processor time": ("import time\na = time.process_time()\nf()\nb = time.process_time() - a\n", []),
    "no clock": ("import time\na = 5\nb = 7 - a\n", []),
    "a deadline": ("import time\na = 100.0\nleft = a - time.time()\n", []),
    "overwritten": ("import time\na = time.time()\na = 3\nb = time.time() - a\n", []),
    "another scope": ("import time\na = time.time()\ndef f():\n  return time.time() - a\n", []),
    "not imported": ("a = time.time()\nb = time.time() - a\n", []),
    "does not parse": ("import time\na = time.time(\n", []),
    "empty": ("", []),
}


def read(*paths) -> dict:
    command = [sys.executable, "-I", str(SCRIPT), *map(str, paths)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("name", SOURCES)
def test_intervals(tmp_path, name):
    source, expected = SOURCES[name]
    path = tmp_path / "source.py"
    path.write_text(source)
    assert [(found["first"], found["last"]) for found in read(path)[str(path)]] == expected


def test_loops_inside_an_interval_are_told_and_those_around_it_not(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(
        "import time\nfor epoch in e:\n  a = time.time()\n  for b in c:\n    f()\n    while g():\n      h()\n"
        "  print(time.time() - a)\n"
    )
    ((interval,),) = read(path).values()
    assert (interval["first"], interval["last"]) == (3, 8)
    assert sorted((loop["first"], loop["last"]) for loop in interval["loops"]) == [(4, 7), (6, 7)]


def test_what_cannot_be_read_has_no_intervals(tmp_path):
    odd = tmp_path / "odd.py"
    odd.write_bytes(b"\xff\xfe\x00nonsense")
    assert read(odd, tmp_path / "missing.py") == {str(odd): [], str(tmp_path / "missing.py"): []}


def test_torch_is_not_imported(tmp_path):
    source = f"import sys; sys.argv = ['x']; exec(open({str(SCRIPT)!r}).read()); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-I", "-c", source], capture_output=True).returncode == 0
