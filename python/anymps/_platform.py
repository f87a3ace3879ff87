"""What a program learns of the machine when it asks Python, rather than torch, whether it is on a Mac.

By default the truth, but for the libraries of probes.tsv: they would not take the device otherwise. ANYMPS_PLATFORM=mac
answers everybody as a Mac does, and puts a `sysctl` in front of the path; ANYMPS_PLATFORM=linux answers nobody so.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

VARIABLE = "ANYMPS_PLATFORM"
_HERE = Path(__file__).parent


def probes() -> list[tuple[str, str, str]]:
    """(module, question, answer) of each row."""
    lines = (_HERE / "probes.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(module, question, answer) for module, question, answer, *_ in rows]


def attach(module, macos: str | None) -> None:
    """`macos`: the version that everybody is to see, where the user has chosen one."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen == "linux":
        return
    release = macos or module.macos_version()
    answers = {"processor": "arm", "machine": "arm64", "mac_ver": (release, ("", "", ""), "arm64")}
    told: dict[str, list[str]] = {name: [] for name in answers}
    for place, question, _ in probes():
        told[question.removeprefix("platform.")].append(place)
    everybody = set(answers) if chosen == "mac" else {"mac_ver"} if macos else set()
    watch = module.checking()
    for name, answer in answers.items():
        if name in everybody:
            setattr(platform, name, _answer(name, answer))
        elif told[name] or watch:
            unanswered = functools.partial(_note, module) if watch and name == "processor" else None
            setattr(platform, name, _answer(name, answer, tuple(told[name]), unanswered))
    if chosen == "mac":
        _put_sysctl_in_front(module)


def _answer(name: str, answer, places: tuple[str, ...] | None = None, unanswered: Callable[[str], None] | None = None):
    original = getattr(platform, name)

    @functools.wraps(original)
    def asked(*arguments, **keywords):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if places is None or any(caller == place or caller.startswith(place + ".") for place in places):
            return answer
        if unanswered is not None:
            unanswered(name)
        return original(*arguments, **keywords)

    return asked


def _note(module, name: str) -> None:
    module.note_finding("platform-asked", f"platform.{name}()")


def _put_sysctl_in_front(module) -> None:
    figures = {
        "hw_memsize": str(module.memory_bytes()),
        "machdep_cpu_brand_string": module.device_name().removesuffix(" (anymps)"),
        "hw_ncpu": str(os.cpu_count() or 1),
        "hw_optional_arm64": "1",
        "sysctl_proc_translated": "0",
    }
    os.environ |= {f"ANYMPS_SYSCTL_{key}": value for key, value in figures.items()}
    folder = str(_HERE / "mac_bin")
    if folder not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PATH", "")]))
