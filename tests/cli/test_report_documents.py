"""The documents of report_documents.py have the fields that the commands write, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import report_documents as documents

ROOT = Path(__file__).parents[2]
RUNBOOK = "src/lab/runbook"
# Where the circumstances of every run are written, and what each command found.
CIRCUMSTANCES = ["trial/circumstances.cpp", "trial/recording.cpp", "logbook/logbook.cpp"]
WRITERS = {
    "doctor": ["doctor/doctor.cpp", "doctor/gates.cpp"],
    "sweep": ["sweep/sweep.cpp", "sweep/measure.cpp"],
    "plateau": ["plateau/plateau.cpp", "plateau/measure.cpp"],
    "parity": ["parity/parity.cpp", "parity/comparison.cpp", "../../../python/anymps/_lab/genuine.py"],
    "profile": ["profile/profile.cpp", "profile/measure.cpp", "../../../python/anymps/_lab/stages.py"],
    "decide": ["decide/decide.cpp", "decide/measure.cpp", "../../cli/decide.cpp"],
    "handoff verify": ["handoff/verify.cpp", "handoff/environment_difference.cpp"],
}
# Named by who runs the command.
CHOSEN = ("axes",)
MADE = (
    documents.doctor(),
    documents.sweep(),
    documents.plateau(grows=True),
    documents.parity(),
    documents.profile(),
    documents.decide(),
    documents.handoff(),
)


def field_names(value) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(field_names, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(field_names(one) for name, one in value.items() if name not in CHOSEN))


def words_in(files: list[str]) -> set[str]:
    texts = [(ROOT / RUNBOOK / file).read_text() for file in files]
    return set(re.findall(r'"(\w+)"', "\n".join(texts)))


@pytest.mark.parametrize("document", MADE, ids=[one["verb"] for one in MADE])
def test_a_command_writes_each_field(document):
    circumstances = [document["facts"], *document["samples"]]
    assert field_names(circumstances) - words_in(CIRCUMSTANCES) == set()
    rest = {name: value for name, value in document.items() if name not in ("facts", "samples")}
    assert field_names(rest) - words_in(["trial/session.cpp", *WRITERS[document["verb"]]]) == set()


def test_the_doctor_has_each_gate():
    gates = (ROOT / RUNBOOK / "doctor/gates.cpp").read_text()
    assert [gate["name"] for gate in documents.doctor()["gates"] if f'"{gate["name"]}"' not in gates] == []
