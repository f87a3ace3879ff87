import csv
import io
import json
import sqlite3

import pytest

FACTS = {
    "torch": "2.13.0",
    "commit": "0123456789abcdef",
    "dirty": False,
    "power_adapter": True,
    "seed": 7,
    "machine": {"system": "macOS 15.5", "cores": 8},
    "settings": {"limit": 64},
}


def sweep(samples_per_second):
    point = {
        "batch": 16,
        "outcome": "ran",
        "why": "",
        "output": "",
        "samples_per_second": samples_per_second,
        "samples_low": samples_per_second,
        "samples_high": samples_per_second,
        "step_seconds": 16 / samples_per_second,
        "first_step_seconds": 1.0,
        "steady_steps": 20,
        "peak_bytes": 1 << 30,
        "resident_bytes": 1 << 31,
        "limit_bytes": 0,
    }
    return {"series": [{"axes": {"workers": "0"}, "points": [point], "notes": []}]}


@pytest.fixture
def logbook(call, tmp_path):
    """A logbook with two sweeps, the second of which was slower and on battery."""
    path = tmp_path / "logbook.sqlite"
    assert call("log", "list", "--logbook", path).returncode == 0
    runs = [(FACTS, sweep(100)), (FACTS | {"power_adapter": False}, sweep(88))]
    with sqlite3.connect(path) as database:
        for facts, document in runs:
            database.execute(
                "INSERT INTO runs (verb, key, state, verdict, started, ended, command, folder, pid, facts, document)"
                " VALUES ('sweep', 'k', 'done', 'good', '2026-01-02T03:04:05Z', '', ?, '/', 0, ?, ?)",
                (json.dumps(["python", "train.py", 'say "a, b"']), json.dumps(facts), json.dumps(document)),
            )
    database.close()
    return path


def test_an_empty_logbook_lists_nothing(call, tmp_path):
    answer = call("log", ANYMPS_LOGBOOK=str(tmp_path / "new.sqlite"))
    assert answer.returncode == 0
    assert "no such run yet" in answer.stdout


def test_runs_are_listed_newest_first(call, logbook):
    answer = call("log", ANYMPS_LOGBOOK=str(logbook))
    lines = answer.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "2", "1"]
    document = json.loads(call("log", "list", "--limit", "1", "--json", "--logbook", logbook).stdout)
    assert [run["id"] for run in document["runs"]] == [2]
    assert json.loads(call("log", "--verb", "plateau", "--json", "--logbook", logbook).stdout)["runs"] == []


def test_names_of_others_do_not_reach_the_terminal_raw(call, logbook):
    with sqlite3.connect(logbook) as database:
        title = "\x1b]0;owned\x07\x9b2J\u202e.py"
        database.execute(
            "UPDATE runs SET command = ?, key = ?, folder = ? WHERE id = 2", (json.dumps([title]), title, title)
        )
        database.execute(
            "INSERT INTO notes (run, at, kind, text, why) VALUES (2, '2026-01-02T03:04:05Z', 'note', ?, ?)",
            (title, title),
        )
    database.close()
    for words in ([], ["show", "2"], ["diff", "1", "2"], ["notes"], ["export", "--format", "csv"], ["readme", "2"]):
        answer = call("log", *words, "--logbook", logbook)
        assert answer.returncode == 0, answer.stderr
        assert not set("\x1b\x07\x9b\u202e") & set(answer.stdout + answer.stderr), words


def test_no_cell_of_a_table_is_a_formula(call, logbook):
    with sqlite3.connect(logbook) as database:
        facts = json.dumps(FACTS | {"torch": "=HYPERLINK(1)", "commit": "@x"})
        database.execute("UPDATE runs SET facts = ? WHERE id = 2", (facts,))
    database.close()
    text = call("log", "export", "--format", "csv", "--logbook", logbook).stdout
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert "'=HYPERLINK(1)" in cells and "'@x" in cells
    assert not [cell for cell in cells if cell[:1] in ("=", "@")]


def test_one_bad_row_does_not_close_the_book(call, logbook):
    deep = "[" * 100_000 + "]" * 100_000
    with sqlite3.connect(logbook) as database:
        database.execute("UPDATE runs SET document = ?, facts = ?, command = ? WHERE id = 2", (deep, deep, deep))
    database.close()
    answer = call("log", "--logbook", logbook)
    assert answer.returncode == 0, answer.stderr
    assert [line.split()[0] for line in answer.stdout.splitlines()] == ["run", "2", "1"]
    for words in (["show", "2"], ["diff", "1", "2"], ["export"], ["readme", "2"]):
        assert call("log", *words, "--logbook", logbook).returncode in (0, 2)


def test_a_run_is_shown_with_all_fields(call, logbook):
    answer = call("log", "show", "last", "--logbook", logbook)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("run 2: anymps sweep, done, good")
    for label in ("torch", "commit", "batch", "peak memory", "CPU fallback", "data-set checksum", "background apps"):
        assert f"\n  {label}" in answer.stdout
    for label in (
        "power adapter",
        "RTT to it",
        "cache mounts",
        "worker initialisation",
        "epoch window",
        "accumulation",
    ):
        assert f"\n  {label}" in answer.stdout
    assert '88 samples/s at batch 16, workers "0"' in answer.stdout


def test_a_difference_is_told_with_what_could_explain_it(call, logbook):
    answer = call("log", "diff", "1", "2", "--logbook", logbook)
    assert answer.returncode == 0, answer.stderr
    assert "100 samples/s -> 88 samples/s  -12.0%" in answer.stdout
    assert "power adapter off in the later run" in answer.stdout
    document = json.loads(call("log", "diff", "1", "2", "--json", "--logbook", logbook).stdout)
    assert [change["name"] for change in document["changed"]] == ["power_adapter"]
    assert [one["name"] for one in document["explanations"]] == ["power adapter off"]


def test_export_can_be_read_back(call, logbook):
    runs = json.loads(call("log", "export", "--logbook", logbook).stdout)
    assert [run["id"] for run in runs] == [1, 2]
    text = call("log", "export", "--format", "csv", "--logbook", logbook).stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["run"] for row in rows] == ["1", "2"]
    assert rows[0]["command"] == 'python train.py say "a, b"'
    assert rows[0]["figure_value"] == "100"
    assert [row["power_adapter"] for row in rows] == ["true", "false"]
    table = call("log", "export", "--format", "markdown", "2", "--logbook", logbook).stdout.splitlines()
    assert len(table) == 3
    assert len({line.count("|") for line in table}) == 1


def test_a_paragraph_for_a_readme(call, logbook):
    answer = call("log", "readme", "1", "--logbook", logbook)
    assert "PyTorch 2.13.0" in answer.stdout
    assert "commit 0123456789" in answer.stdout
    assert "seed: 7" in answer.stdout
    assert "\n" not in answer.stdout.rstrip("\n")


def test_notes_and_rejected_hypotheses_are_kept(call, logbook):
    assert call("log", "note", "a warm day", "--logbook", logbook).returncode == 0
    words = ("log", "reject", "channels_last", "--why", "no faster", "--run", "2", "--logbook", logbook)
    assert call(*words).returncode == 0
    document = json.loads(call("log", "notes", "--json", "--logbook", logbook).stdout)
    assert [(note["kind"], note["text"], note["run"]) for note in document["notes"]] == [
        ("note", "a warm day", 0),
        ("rejected", "channels_last", 2),
    ]
    assert "because: no faster" in call("log", "show", "2", "--logbook", logbook).stdout
    assert call("log", "reject", "channels_last", "--logbook", logbook).returncode == 2


@pytest.mark.parametrize(
    "words",
    [("show", "99"), ("show", "first"), ("diff", "1"), ("diff", "1", "99"), ("note", "x", "--run", "99"), ("shwo",)],
    ids=" ".join,
)
def test_what_is_not_there_is_one_line_and_status_2(call, logbook, words):
    answer = call("log", *words, ANYMPS_LOGBOOK=str(logbook))
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert len(answer.stderr.splitlines()) == 1


def test_a_foreign_database_is_refused(call, tmp_path):
    path = tmp_path / "theirs.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE theirs (x)")
    database.close()
    answer = call("log", "list", "--logbook", path)
    assert answer.returncode == 2
    assert "another program" in answer.stderr
