"""The worker's half of the shepherd's protocol: one item per line on stdin, one JSON line per answer."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable


def serve(answers_fd: int, answer: Callable[[str], dict]) -> None:
    items = os.fdopen(os.dup(0), "r")
    # A test that reads stdin must not eat the next item.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    with os.fdopen(answers_fd, "w") as out:
        print(json.dumps({"ready": True}), file=out, flush=True)
        for line in items:
            print(json.dumps(answer(line.rstrip("\n"))), file=out, flush=True)
    sys.stdout.flush()
    # Leaving without interpreter teardown: what a test left behind (threads, modules) must not turn into a hang here.
    os._exit(0)
