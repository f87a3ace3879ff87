"""The documents of report_documents.py are what the commands write, field for field."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import report_documents as documents

ROOT = Path(__file__).parents[2]
REWRITER = ROOT / "build/release/tests/rewrite_documents"
MADE = (
    documents.doctor(),
    documents.doctor({"architecture": "red"}),
    documents.sweep(),
    documents.sweep("m1-16gb"),
    documents.plateau(),
    documents.plateau(grows=True),
    documents.parity(),
    documents.profile(),
    documents.decide(),
    documents.handoff(),
)


def rewritten(document: dict) -> dict:
    if not REWRITER.exists():
        pytest.skip("the C++ tests are not built (make cpp-tests)")
    answer = subprocess.run([REWRITER], input=json.dumps([document]), capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)[0]


@pytest.mark.parametrize("document", MADE, ids=[one["verb"] for one in MADE])
def test_a_command_writes_it_as_it_is(document):
    assert rewritten(document) == document


def test_a_field_that_no_command_writes_is_seen():
    document = documents.sweep()
    document["series"][0]["points"][0]["swap_bytes"] = 0
    assert rewritten(document) != document


def test_the_doctor_has_each_gate():
    gates = (ROOT / "src/lab/runbook/doctor/gates.cpp").read_text()
    assert [gate["name"] for gate in documents.doctor()["gates"] if f'"{gate["name"]}"' not in gates] == []
