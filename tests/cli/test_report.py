"""The page of `anymps report`: what goes into it, and what a browser makes of it."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest
import report_documents as documents

CHROMIUM = Path(__file__).parents[1] / "full" / "chromium.py"
DESK, PHONE = (1280, 900), (390, 844)
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture
def logbook(call, tmp_path) -> Path:
    """An empty one, whose tables the program makes."""
    path = tmp_path / "logbook.sqlite"
    path.touch()
    finished = call("report", "--logbook", path)
    assert finished.returncode == 2 and "no finished run" in finished.stderr
    return path


@pytest.fixture
def report(call, tmp_path):
    """What went into the page of these documents, and the page."""

    def make(*all_documents: dict, options=()) -> tuple[dict, Path]:
        words = []
        for number, one in enumerate(all_documents):
            file = tmp_path / f"document{number}.json"
            file.write_text(json.dumps(one))
            words += ["--from", file]
        page = tmp_path / "page.html"
        finished = call("report", *words, "-o", page, "--json", *options)
        assert finished.returncode == 0, finished.stderr
        return json.loads(finished.stdout), page

    return make


def test_a_document_that_is_nested_too_deep_is_refused(call, tmp_path):
    deep = tmp_path / "deep.json"
    deep.write_text('{"runs": ' + "[" * 100_000 + "]" * 100_000 + "}")
    finished = call("report", "--from", deep, "-o", tmp_path / "page.html")
    assert finished.returncode == 2
    assert "deep.json is no JSON" in finished.stderr


def sweep_of(answer: dict) -> dict:
    [sweep] = answer["publishable"]["sweeps"]
    return sweep


def missing(answer: dict) -> list[str]:
    return [one["name"] for one in sweep_of(answer)["behind"] if not one["met"]]


def test_newest_runs_of_the_newest_command(call, logbook):
    other = documents.sweep() | {"command": ["python", "other.py"]}
    documents.put(logbook, other, documents.doctor(), documents.sweep(), documents.sweep(), documents.plateau())
    documents.put(logbook, documents.profile(), state="interrupted")
    answer = json.loads(call("report", "--logbook", logbook, "--json").stdout)
    runs = {section["verb"]: [run["run"] for run in section["runs"]] for section in answer["sections"]}
    assert runs == {"sweep": [4], "plateau": [5], "doctor": [2]}
    assert Path(answer["path"]).read_text().startswith("<!doctype html>")


def test_named_runs_and_the_last(call, logbook):
    documents.put(logbook, documents.doctor(), documents.sweep(), documents.plateau())
    answer = json.loads(call("report", "2", "last", "--logbook", logbook, "--json").stdout)
    assert [(section["verb"], section["runs"][0]["run"]) for section in answer["sections"]] == [
        ("sweep", 2),
        ("plateau", 3),
    ]
    answer = json.loads(call("report", "--last", "--logbook", logbook, "--json").stdout)
    assert [section["verb"] for section in answer["sections"]] == ["plateau"]


def test_side_by_side_takes_one_run_of_each_setting(call, logbook):
    small, large = documents.sweep("m1-16gb"), documents.sweep("m1-max-64gb", 43.0, 256)
    documents.put(logbook, small, small, large)
    answer = json.loads(call("report", "--side-by-side", "--logbook", logbook, "--json").stdout)
    [section] = answer["sections"]
    assert [run["label"] for run in section["runs"]] == ["run 2, m1-16gb", "run 3, m1-max-64gb"]
    assert section["charts"] == 6  # two in common, two of each


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["7"], "no run 7"),
        (["first"], "neither"),
        (["1"], "not finished"),
        (["--from", "nothing.json"], "cannot read"),
        (["--from", "text.json"], "no JSON"),
        (["--from", "list.json"], "no document"),
    ],
)
def test_what_cannot_be_reported(call, logbook, tmp_path, words, complaint):
    documents.put(logbook, documents.sweep(), state="interrupted")
    (tmp_path / "text.json").write_text("{")
    (tmp_path / "list.json").write_text("[1, {}]")
    finished = call("report", *words, "--logbook", logbook, "-o", "page.html")
    assert finished.returncode == 2 and finished.stdout == ""
    assert complaint in finished.stderr
    assert not (tmp_path / "page.html").exists()


def test_reading_makes_no_logbook(call, tmp_path):
    finished = call("report", "--logbook", tmp_path / "none.sqlite")
    assert finished.returncode == 2 and "no logbook" in finished.stderr
    assert not (tmp_path / "none.sqlite").exists()


def test_a_failed_point_of_a_sweep_is_not_drawn(report):
    """A sweep writes 0 where nothing was measured, which is no point of the curve."""
    document = documents.sweep()
    points = document["series"][0]["points"]
    points[-1] |= {"samples_per_second": 0.0, "peak_bytes": 0}
    ran = sum(point["outcome"] == "ran" for point in points)
    assert ran == len(points) - 1
    _, path = report(document)
    curves = re.findall(r'<path class="line" d="(M[^"]*)"', path.read_text())
    assert [len(re.findall("[ML]", curve)) for curve in curves] == [ran, ran]


def test_publishable_with_all_four(call, logbook):
    documents.put(logbook, documents.doctor(), documents.plateau(), documents.sweep())
    answer = json.loads(call("report", "3", "--logbook", logbook, "--json").stdout)
    assert missing(answer) == []
    assert answer["publishable"]["publishable"] and sweep_of(answer)["publishable"]
    assert "Publishable: all four" in Path(answer["path"]).read_text()


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        ([], ["architecture proof", "device log", "memory curve"]),
        ([documents.doctor({"architecture": "red"}), documents.plateau()], ["architecture proof"]),
        ([documents.doctor({"matmul": "yellow"}), documents.plateau()], ["device log"]),
        ([documents.doctor(), documents.plateau(command=["python", "other.py"])], ["memory curve"]),
        ([documents.doctor(), documents.plateau(command=["python3", "train.py", "--epochs", "3"])], []),
        ([documents.doctor(), documents.plateau() | {"verdict": "bad"}], ["memory curve"]),
        (
            [documents.doctor() | {"facts": {"machine": {"cpu": "another"}}}, documents.plateau()],
            ["architecture proof", "device log"],
        ),
    ],
    ids=["nothing", "translated", "no device", "other command", "other batch", "rising", "other host"],
)
def test_what_is_missing_is_named_with_its_command(call, logbook, behind, expected):
    documents.put(logbook, *behind, documents.sweep())
    answer = json.loads(call("report", len(behind) + 1, "--logbook", logbook, "--json").stdout)
    assert missing(answer) == expected
    assert answer["publishable"]["publishable"] == (expected == [])
    page = Path(answer["path"]).read_text()
    assert ("<code>anymps doctor</code>" in page) == ("device log" in expected or "architecture proof" in expected)
    assert ("<code>anymps plateau -- python train.py" in page) == ("memory curve" in expected)


@pytest.mark.parametrize(
    "sweep",
    [
        documents.sweep("m1-16gb"),
        documents.sweep(facts={"simulated": True}),
        documents.sweep(facts={"device": "anymps, simulated M1"}),
        documents.sweep(facts={"device": "mps", "machine": {"system": "Debian 12"}}),
    ],
    ids=["mac", "flag", "device", "system"],
)
def test_a_simulated_throughput_is_never_publishable(call, logbook, sweep):
    facts = {"facts": sweep["facts"]}
    documents.put(logbook, documents.doctor() | facts, documents.plateau() | facts, sweep)
    answer = json.loads(call("report", "3", "--logbook", logbook, "--json").stdout)
    assert missing(answer) == [] and sweep_of(answer)["simulated"]
    assert not answer["publishable"]["publishable"]
    assert "simulated device" in Path(answer["path"]).read_text()


def test_a_run_of_the_logbook_as_json_is_taken(report):
    _, page = report({"id": 4, "verb": "sweep", "folder": "/x", "document": documents.sweep("m1-16gb")})
    assert "m1-16gb" in page.read_text()


def test_a_document_without_anything_has_a_page(report):
    verbs = ["doctor", "sweep", "plateau", "parity", "profile", "decide", "handoff smoke", "unheard-of"]
    for odd in (
        {},
        {"series": 3, "gates": None, "epochs": [1, None], "comparisons": [{}], "workers": [[]], "facts": []},
    ):
        answer, _ = report(*({"verb": verb} | odd for verb in verbs))
        assert len(answer["sections"]) == len(verbs)


# In a browser.


@pytest.fixture(scope="module")
def browser():
    specification = importlib.util.spec_from_file_location("chromium", CHROMIUM)
    chromium = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(chromium)
    if chromium.executable() is None:
        pytest.skip(f"there is no browser ({', '.join(chromium.NAMES)})")
    with chromium.Page(*DESK) as page:
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        yield page


@pytest.fixture
def opened(browser):
    def open_page(path: Path, size=DESK, scheme="light", scripts=True):
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
        browser.call("Emulation.setDeviceMetricsOverride", **metrics)
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        browser.open(path.as_uri())
        browser.wait_for(f"document.readyState === 'complete' && location.href === {json.dumps(path.as_uri())}")
        return browser

    return open_page


def complaints(browser, page: Path) -> list:
    """What the page logged, threw, or asked for beside itself."""
    found = []
    for event in browser.events:
        method, parameters = event["method"], event["params"]
        if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled") or (
            method == "Network.requestWillBeSent" and parameters["request"]["url"] != page.as_uri()
        ):
            found.append(event)
    return found


EVERYTHING = (
    documents.decide(),
    documents.doctor({"power adapter": "yellow"}),
    documents.sweep("m1-16gb"),
    documents.sweep("m1-max-64gb", 43.0, 256),
    documents.plateau(grows=True),
    documents.parity(),
    documents.profile(),
    documents.handoff(),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_opens_quietly_and_fits_its_window(opened, report, size, scheme):
    answer, path = report(*EVERYTHING)
    page = opened(path, size, scheme)
    assert not page.evaluate(TOO_WIDE)
    drawn = page.evaluate("document.querySelectorAll('figure.chart').length")
    assert drawn == sum(section["charts"] for section in answer["sections"]) > 12
    style = "getComputedStyle(document.body)"
    ink, paper = (
        sum(map(int, re.findall(r"\d+", page.evaluate(f"{style}.{name}")))) for name in ("color", "backgroundColor")
    )
    assert (ink < paper) == (scheme == "light"), (ink, paper)
    columns = page.evaluate(
        "new Set([...document.querySelectorAll('[data-verb=sweep] article')].map(one => one.offsetLeft)).size"
    )
    assert columns == (2 if size == DESK else 1)
    # What stands outside its chart would be cut off or hide something else.
    outside = """[...document.querySelectorAll('figure.chart > svg text')].filter(text => {
      const [inner, outer] = [text.getBoundingClientRect(), text.closest('svg').getBoundingClientRect()];
      return inner.left < outer.left - 6 || inner.right > outer.right + 6 || inner.bottom > outer.bottom + 2;
    }).map(text => text.textContent)"""
    assert page.evaluate(outside) == []
    assert complaints(page, path) == []


def test_charts_have_every_point(opened, report):
    small, large = documents.sweep("m1-16gb"), documents.sweep("m1-max-64gb", 43.0, 256)
    _, path = report(small, large, documents.plateau())
    page = opened(path)
    counts = page.evaluate(
        "[...document.querySelectorAll('figure.chart')].map(one => one.querySelectorAll('.point').length)"
    )
    ran = [sum(p["outcome"] == "ran" for p in one["series"][0]["points"]) for one in (small, large)]
    both = sum(ran)
    assert counts == [both, both, ran[0], ran[0], ran[1], ran[1], 10, 40]
    legend = page.evaluate("[...document.querySelectorAll('.legend')][0].innerText")
    assert "m1-16gb" in legend and "m1-max-64gb" in legend
    marks = page.evaluate("[...document.querySelectorAll('article .mark text')].map(one => one.textContent)")
    assert {"knee 16", "use 32", "fails 128", "use 128", "fails 512"} <= set(marks)
    assert page.evaluate("document.querySelector('[data-verb=plateau] text.threshold').textContent") == "+26%"


def test_tables_sort_by_click(opened, report):
    _, path = report(documents.profile())
    page = opened(path)
    table = "[...document.querySelectorAll('[aria-label=Operators] {}')]"
    rows = table.format("tbody tr") + ".map(row => row.cells[0].textContent)"
    heads = table.format("th") + ".map(head => head.getAttribute('aria-sort'))"
    click = table.format("th button") + "[{}].click()"
    assert page.evaluate(rows) == ["aten::op2", "aten::op1", "aten::op3"]  # by self time, from the beginning
    assert page.evaluate(heads) == [None, None, "descending", None, None, None]
    page.evaluate(click.format(4))
    assert page.evaluate(rows) == ["aten::op3", "aten::op2", "aten::op1"]
    assert page.evaluate(heads) == [None, None, None, None, "descending", None]
    page.evaluate(click.format(4))
    assert page.evaluate(rows) == ["aten::op1", "aten::op2", "aten::op3"]
    page.evaluate(click.format(0))
    assert page.evaluate(heads) == ["ascending", None, None, None, None, None]
    assert page.evaluate(rows) == ["aten::op1", "aten::op2", "aten::op3"]


def test_points_are_read_out_by_pointer_and_keys(opened, report):
    _, path = report(documents.sweep())
    page = opened(path)
    note = (
        "(() => { const note = document.querySelector('.readout'); return note.hidden ? null : note.textContent; })()"
    )
    assert page.evaluate(note) is None
    x, y = page.evaluate("""(() => {
      document.querySelector('figure.chart').scrollIntoView();
      const place = document.querySelectorAll('.point')[2].getBoundingClientRect();
      return [place.left + place.width / 2, place.top + place.height / 2];
    })()""")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 3, y=y - 4)
    assert page.evaluate(note).startswith("batch 8, 152.7 samples/s (145.1 to 158.8), peak 1.6 GiB")
    page.evaluate("document.querySelector('figure.chart > svg').focus()")
    for key, batch in (("Home", 2), ("ArrowRight", 4), ("End", 64), ("ArrowLeft", 32)):
        page.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        assert page.evaluate(note).startswith(f"batch {batch},")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert page.evaluate(note) is None


def test_curves_are_there_without_scripts(opened, report):
    _, path = report(*EVERYTHING)
    page = opened(path, scripts=False)
    assert page.evaluate("document.querySelectorAll('th button, .readout').length") == 0
    heights = page.evaluate("[...document.querySelectorAll('path.line')].map(one => one.getBoundingClientRect().width)")
    assert len(heights) > 10 and min(heights) > 20
    assert page.evaluate("document.querySelector('[data-verb=sweep] .point title').textContent").startswith(
        "document2, m1-16gb: batch 2"
    )


def evil(value):
    """With every text of it, names aside, turned into something that must not be taken for markup."""
    if isinstance(value, dict):
        kept = ("verb", "outcome", "measure")
        return {name: one if name in kept and isinstance(one, str) else evil(one) for name, one in value.items()}
    if isinstance(value, list):
        return [evil(one) for one in value]
    return value + documents.EVIL if isinstance(value, str) else value


def test_nothing_in_a_document_is_taken_for_markup(opened, report):
    strange = {"verb": documents.EVIL, documents.EVIL: documents.EVIL, "rows": [{documents.EVIL: documents.EVIL}]}
    _, path = report(*map(evil, EVERYTHING), strange, {"verb": "sweep", "mac": documents.EVIL})
    for size in (DESK, PHONE):
        page = opened(path, size)
        assert page.evaluate("document.title") == "anymps report"
        assert page.evaluate("[document.scripts.length, document.images.length]") == [1, 0]
        assert documents.EVIL in page.evaluate("document.querySelector('main').textContent")
        assert not page.evaluate(TOO_WIDE)
        assert complaints(page, path) == []


def test_the_page_runs_no_script_but_its_own(opened, report):
    _, path = report(documents.sweep())
    text = path.read_text()
    path.write_text(text.replace("</main>", "</main><script>document.title = 'run'</script><img src='x.png'>"))
    page = opened(path)
    assert page.evaluate("document.title") == "anymps report"
    assert not [one for one in page.events if one["method"] == "Network.responseReceived" and "x.png" in str(one)]
