"""ANYMPS_PLATFORM: what programs that ask Python, not torch, learn of the machine."""

import platform

from anymps import _platform

ASK = """
import platform, subprocess, sys, torch
print(platform.processor(), platform.machine(), platform.mac_ver()[0])
library = type(sys)("lightning.fabric.accelerators.mps")
exec("import platform\\nprint(platform.processor(), platform.machine())", vars(library))
"""
SYSCTL = """
import subprocess, torch
for words in (["-n", "hw.memsize"], ["hw.optional.arm64"], ["-n", "kern.nothing"], ["-n", "a;echo b"]):
    done = subprocess.run(["sysctl", *words], capture_output=True, text=True)
    print(done.returncode, done.stdout.strip(), done.stderr.strip())
"""


def test_a_library_of_the_table_is_told_of_a_mac(python):
    own, library = python(ASK).stdout.splitlines()
    assert own.split() == [*platform.processor().split(), platform.machine()]
    assert library == f"arm {platform.machine()}"


def test_everybody_or_nobody(python):
    own, library = python(ASK, ANYMPS_PLATFORM="mac", ANYMPS_MACOS="15.1").stdout.splitlines()
    assert own == "arm arm64 15.1"
    assert library == "arm arm64"
    own, library = python(ASK, ANYMPS_PLATFORM="linux", ANYMPS_MAC="m2-8gb").stdout.splitlines()
    assert own.split() == library.split()


def test_sysctl_knows_the_simulated_mac(python):
    answers = python(SYSCTL, ANYMPS_PLATFORM="mac", ANYMPS_MAC="m2-8gb").stdout.splitlines()
    assert [answer.strip() for answer in answers] == [
        f"0 {8 << 30}",
        "0 hw.optional.arm64: 1",
        "1  sysctl: unknown oid 'kern.nothing'",
        "1  sysctl: unknown oid 'a;echo b'",
    ]


def test_every_probe_is_a_question_that_is_answered():
    for module, question, answer in _platform.probes():
        assert module and answer
        assert question in ("platform.processor", "platform.machine", "platform.mac_ver")
