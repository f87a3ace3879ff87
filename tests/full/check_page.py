"""Opens the page that `anymps check --html` writes, holds what it shows against the JSON, and takes pictures.

    python tests/full/check_page.py                     checks a program with faults and looks at its page
    python tests/full/check_page.py --pictures FOLDER   where the pictures go (build)

The browser is a headless Chromium; where there is none it says so, and ends with 0. ANYMPS_EXECUTABLE names a program
that is not beside this Python.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import chromium
from anymps._executable import executable

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import torch
model = torch.nn.Linear(64, 64).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(128, 64, device="mps")
for _ in range(12):
    optimizer.zero_grad(set_to_none=False)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    print("<b>" if loss.item() < 0 else "step")
torch.poisson(x.abs())
torch.cuda.empty_cache()
"""
# A desk's window, and a phone's.
WINDOWS = {"desk": (1280, 1000), "phone": (390, 844)}

SHOWN = """
(() => {
  const rules = [...document.querySelectorAll('.rule')].filter(rule => rule.getClientRects().length);
  return rules.map(rule => [rule.dataset.severity, rule.querySelectorAll('li').length]);
})()
"""
PRESS = "document.querySelector('.filter button[data-severity={}]').click()"
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
FETCHED = "performance.getEntriesByType('resource').map(entry => entry.name)"


def check(folder: Path) -> tuple[Path, list[dict]]:
    program, page, answer = folder / "program.py", folder / "page.html", folder / "answer.json"
    program.write_text(PROGRAM)
    command = [executable(), "check", "--quiet", "--html", page, "--json", answer, sys.executable, program]
    finished = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL)
    if finished.returncode != 1:
        raise SystemExit(f"the check ended with {finished.returncode}, and not with 1")
    return page, json.loads(answer.read_text())["findings"]


def look(page_file: Path, findings: list[dict], size: tuple[int, int], picture: Path) -> None:
    with chromium.Page(*size) as page:
        page.open(page_file.as_uri())
        page.wait_for("document.readyState === 'complete' && document.querySelector('.filter') !== null")
        everything = page.evaluate(SHOWN)
        assert sum(places for _, places in everything) == len(findings) > 3, everything
        for severity in ("error", "warning", "note"):
            page.evaluate(PRESS.format(severity))
            shown = page.evaluate(SHOWN)
            expected = sum(finding["severity"] == severity for finding in findings)
            assert sum(places for _, places in shown) == expected, (severity, shown)
        page.evaluate(PRESS.format("all"))
        assert page.evaluate(SHOWN) == everything
        assert not page.evaluate(TOO_WIDE), f"wider than its window at {size}"
        assert page.evaluate(FETCHED) == [], "the page is not self-contained"
        assert "<b>" in page.evaluate("document.querySelector('main').innerText"), "source text was taken for markup"
        picture.write_bytes(page.screenshot())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, default=ROOT / "build", help="where they go")
    options = parser.parse_args()
    if chromium.executable() is None:
        print(f"skipped: there is no browser ({', '.join(chromium.NAMES)})")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        page, findings = check(Path(folder))
        for name, size in WINDOWS.items():
            picture = options.pictures / f"check-{name}.png"
            look(page, findings, size, picture)
            print(f"{name}: {len(findings)} findings shown, filtered and pictured in {picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
