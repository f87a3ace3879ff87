"""`anymps macs`, and `anymps run --mac`."""

import json

import pytest

HUNGRY = """
import torch
kept = [torch.empty(3 << 30, dtype=torch.uint8, device="mps") for _ in range(4)]
"""


def test_every_mac_is_a_row(call):
    rows = call("macs").stdout.splitlines()
    names = {row.split()[0] for row in rows}
    assert {"m1-8gb", "m1-16gb", "m2-8gb", "m3pro-36gb", "m4max-128gb", "m5-16gb"} <= names
    (row,) = [row for row in rows if row.startswith("m3pro-36gb ")]
    assert "Apple M3 Pro" in row and "14 or 18" in row and "150" in row


def test_json_gives_each_figure_with_its_source(call):
    answer = json.loads(call("macs", "--json", "--macos", "14.5").stdout)
    macs = {mac["name"]: mac for mac in answer["macs"]}
    assert macs["m1max-64gb"]["working_set_bytes"]["value"] == 49152 << 20
    assert macs["m1max-64gb"]["max_buffer_bytes"]["value"] == 36864 << 20
    for mac in macs.values():
        for name, figure in mac.items():
            if isinstance(figure, dict) and name != "max_buffer_bytes":
                assert figure["source"] in answer["sources"], (mac["name"], name)


def test_sources_are_listed(call):
    assert "computed:release" in call("macs", "--sources").stdout


@pytest.mark.parametrize("verb", ["run", "size"])
@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ({"ANYMPS_MAC": "m2-9gb"}, "the nearest are m2-8gb"),
        ({"ANYMPS_MAC": "imacpro-vega"}, "Intel processor"),
        ({"ANYMPS_MACOS": "x"}, "`x` is no version of macOS"),
    ],
)
def test_a_wrong_choice_starts_nothing(call, tmp_path, verb, choice, text):
    answer = call(verb, "touch", "started", **choice)
    assert answer.returncode == 2
    assert text in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
    assert not (tmp_path / "started").exists()


def test_options_reach_the_child(call):
    answer = call("run", "--mac", "m2-8gb", "--macos", "14.5", "sh", "-c", "echo $ANYMPS_MAC $ANYMPS_MACOS")
    assert answer.stdout == "m2-8gb 14.5\n"
    assert call("run", "--mac", "m2-9gb", "true").returncode == 2
    assert call("run", "--macos", "x", "true").returncode == 2


def test_out_of_memory_on_a_chosen_mac_ends_with_the_remedies(call, tmp_path):
    (tmp_path / "hungry.py").write_text(HUNGRY)
    answer = call("run", "--mac", "m2-8gb", "hungry.py", "--batch-size", "64")
    assert answer.returncode == 1
    assert "MPS backend out of memory" in answer.stderr
    screen, remedies = answer.stderr.split("Out of memory on m2-8gb.")
    assert "Apple M2 (anymps)" in screen
    flat = " ".join(remedies.split())
    assert "asked for 64; try 32" in flat
    assert "stood at 9.1 GiB" in flat
    assert "torch.mps.empty_cache()" in flat


def test_without_a_chosen_mac_there_are_remedies_for_this_machine(call, tmp_path):
    (tmp_path / "hungry.py").write_text("import torch; torch.mps.set_per_process_memory_fraction(0.001)\n" + HUNGRY)
    answer = call("run", "hungry.py")
    assert "Out of memory on a Mac of this machine's size. What people do about it:" in answer.stderr
