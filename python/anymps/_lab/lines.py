"""The file of this process, a line of JSON for each event, and what a process takes."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from typing import Any


def resident_bytes() -> int:
    """What this process has in memory now; where the system does not tell, the most that it ever had."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def open_descriptors() -> int:
    try:
        return len(os.listdir("/dev/fd"))
    except OSError:
        return 0


class Lines:
    """The file of this process. A forked worker gets its own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.pid = 0
        self.file = -1
        self.lost = ""  # why the last line could not be written

    def open(self) -> None:
        if self.file >= 0:
            os.close(self.file)
        self.file = -1
        self.pid = os.getpid()
        path = os.path.join(self.folder, f"{self.pid}.jsonl")
        try:
            self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:  # the next line tries again, and tells
            self.lost = error.strerror or str(error)

    def write(self, line: str) -> None:
        if self.file < 0:
            self.open()
            if self.file < 0:
                return
        data = line.encode(errors="replace") + b"\n"
        if self.lost:
            data = b"\n" + json.dumps({"e": "lost", "why": self.lost}).encode() + b"\n" + data
        # A full disk must not end the user's training. Who reads the lines is told with the next one.
        try:
            written = os.write(self.file, data)
            self.lost = "" if written == len(data) else os.strerror(errno.ENOSPC)
        except OSError as error:
            self.lost = error.strerror or str(error)

    def event(self, kind: str, /, **fields: Any) -> None:
        self.write(json.dumps({"e": kind, "t": time.monotonic_ns(), **fields}, default=str))
