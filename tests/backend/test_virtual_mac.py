"""ANYMPS_MAC and ANYMPS_MACOS: limits, name and cores of a chosen Mac, and what version checks see."""

import pytest

FACTS = """
import platform, torch
print(torch.backends.mps.get_name())
print(torch.backends.mps.get_core_count())
print(torch.mps.recommended_max_memory())
print(platform.mac_ver())
print([torch.backends.mps.is_macos_or_newer(*v) for v in ((14, 4), (15, 0), (15, 1), (26, 0))])
"""
OLD = "The MPS backend is supported on macOS 14.0+. Current OS version can be queried using `sw_vers`"


def facts(python, **environment):
    return python(FACTS, **environment).stdout.splitlines()


def test_the_script_sees_that_mac(python):
    name, cores, memory, version, newer = facts(python, ANYMPS_MAC="m1max-64gb", ANYMPS_MACOS="14.5")
    assert (name, cores) == ("Apple M1 Max (anymps)", "32")
    assert int(memory) == 49152 << 20  # as users of that Mac report it
    assert version == "('14.5', ('', '', ''), 'arm64')"
    assert newer == "[True, False, False, False]"


def test_the_working_set_depends_on_macos(python):
    assert round(int(facts(python, ANYMPS_MAC="m4max-128gb")[2]) / 2**30, 2) == 107.52
    assert int(facts(python, ANYMPS_MAC="m4max-128gb", ANYMPS_MACOS="15.1")[2]) == 96 << 30


def test_without_a_choice_python_tells_the_truth_about_this_system(python):
    *_, version, newer = facts(python)
    assert version == "('', ('', '', ''), '')"
    assert newer == "[True, True, True, True]"


def test_its_largest_buffer_and_its_limit_hold(python):
    code = """
import torch
def ask(gibibytes):
    return torch.empty(gibibytes << 30, dtype=torch.uint8, device="mps")
try:
    ask(5)
except RuntimeError as error:
    print(error)
kept = []
try:
    while len(kept) < 20:
        kept.append(ask(1))
except RuntimeError as error:
    print(error)
print(len(kept))
"""
    buffer, limit, count = python(code, ANYMPS_MAC="m2-8gb").stdout.splitlines()
    assert buffer == "Invalid buffer size: 5.00 GiB"
    assert "max allowed: 9.07 GiB" in limit  # 1.7 times 5.33 GiB
    assert 7 <= int(count) <= 9


@pytest.mark.parametrize("version", ["13.0", "13.7.8", "12"])
def test_an_old_macos_has_no_device_and_pytorchs_text(python, version):
    code = """
import platform, torch
print(torch.backends.mps.is_built(), torch.backends.mps.is_available(), torch.mps.device_count())
print(platform.mac_ver()[0])
for attempt in (lambda: torch.ones(2, device="mps"), lambda: torch.ones(2).to("mps")):
    try:
        attempt()
    except RuntimeError as error:
        print(error)
"""
    lines = python(code, ANYMPS_MACOS=version).stdout.splitlines()
    assert lines == ["True False 0", version, OLD, OLD]


def test_macos_14_is_new_enough(python):
    code = "import torch; print(torch.backends.mps.is_available(), torch.ones(2, device='mps').sum().item())"
    assert python(code, ANYMPS_MACOS="14.0").stdout.split() == ["True", "2.0"]


def test_an_unknown_mac_steps_aside_with_the_nearest(python):
    finished = python("import torch; print(torch.backends.mps.is_available())", ANYMPS_MAC="m2-9gb")
    assert finished.stdout.strip() == "False"
    (line,) = finished.stderr.splitlines()
    assert line.startswith("anymps: there is no Mac named `m2-9gb`; the nearest are m2-8gb, ")
    assert line.endswith("; stepping aside")


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"ANYMPS_MAC": "m2-9gb"}, "m2-8gb"),
        ({"ANYMPS_MAC": "intel-amd"}, "for which PyTorch 2.13 is not built"),
        ({"ANYMPS_MACOS": "sonoma"}, "`sonoma` is no version of macOS"),
    ],
)
def test_required_makes_a_wrong_choice_an_error(python, variables, text):
    finished = python("import torch; print('on')", check=False, ANYMPS_REQUIRED="1", **variables)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert text in finished.stderr
