"""Runs items one after another in a child process that may die.

A worker reads one item per line and answers one JSON line per item. When it crashes or hangs, the item it was at gets
that outcome, and a fresh worker goes on with the item after it. So a crash costs one item and a start-up, not the run.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

START_LIMIT_S = 300  # importing torch and its operator database; generous, since the machine may be shared
STDERR_TAIL = 2000


def slice_of(text: str) -> slice:
    """For the command line: "3/10" is every tenth item, from the third on."""
    k, n = map(int, text.split("/"))
    if not 1 <= k <= n:
        raise ValueError(f"{text} is no slice: K/N, with K from 1 to N")
    return slice(k - 1, None, n)


class WorkerFailed(RuntimeError):
    """The worker could not even start: that is the harness's fault or the installation's, not an item's."""


class Shepherd:
    """One worker at a time. Not shared between threads."""

    def __init__(self, command: list[str], limit_s: float, limit_gib: float, env: dict[str, str] | None = None):
        self.command, self.limit_s, self.limit_gib, self.env = command, limit_s, limit_gib, env
        self.child: subprocess.Popen | None = None

    def run(self, item: str, limit_s: float | None = None) -> dict:
        """The worker's answer to `item`, or {'outcome': 'crash' | 'timeout' | 'memory', 'detail': ...}."""
        if self.child is None:
            self._start()
        began = time.monotonic()
        try:
            self.child.stdin.write(item.encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            return self._died(began)
        limit_s = limit_s or self.limit_s
        try:
            line = self._read_line(limit_s)
        except MemoryError:
            self._kill()
            return {"outcome": "memory", "detail": f"over {self.limit_gib:g} GiB", "seconds": time.monotonic() - began}
        if line is None:
            self._kill()
            return {"outcome": "timeout", "detail": f"over {limit_s:g} s", "seconds": limit_s}
        if not line:
            return self._died(began)
        answer = json.loads(line)
        answer.setdefault("seconds", round(time.monotonic() - began, 3))
        return answer

    def close(self) -> None:
        if self.child is None:
            return
        self.child.stdin.close()
        try:
            self.child.wait(timeout=20)  # an exit that hangs is not worth waiting for
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self._forget()

    def _start(self) -> None:
        # Answers come over a pipe of their own: a test may print anything it likes on stdout.
        read_end, write_end = os.pipe()
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by _forget
        self.child = subprocess.Popen(
            [*self.command, "--answers", str(write_end)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self.stderr,
            pass_fds=[write_end],
            env=self.env,
            start_new_session=True,  # so that a kill also reaches what the test started
        )
        os.close(write_end)
        self.answers, self.buffer = read_end, b""
        ready = self._read_line(START_LIMIT_S)
        if not ready or json.loads(ready) != {"ready": True}:
            tail = self._stderr_tail()
            self._kill()
            raise WorkerFailed(f"{' '.join(self.command)} did not start: {tail}")

    def _read_line(self, limit_s: float) -> bytes | None:
        """None: out of time. b'': the worker closed its end."""
        deadline = time.monotonic() + limit_s
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if not select.select([self.answers], [], [], min(left, 0.25))[0]:
                # Not an rlimit on the address space: the product reserves far more addresses than it uses.
                if self._resident_gib() > self.limit_gib:
                    raise MemoryError
                continue
            chunk = os.read(self.answers, 65536)
            if not chunk:
                return b""
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def _resident_gib(self) -> float:
        try:
            pages = int(Path(f"/proc/{self.child.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0.0  # it has just died, or this is not Linux
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**30

    def _died(self, began: float) -> dict:
        try:
            code = self.child.wait(timeout=5)
            how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        except subprocess.TimeoutExpired:
            how = "closed its answers"
        answer = {"outcome": "crash", "detail": f"{how}: {self._stderr_tail()}", "seconds": time.monotonic() - began}
        self._kill()
        return answer

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        self.child.stdin.close()
        self._forget()

    def _forget(self) -> None:
        os.close(self.answers)
        self.stderr.close()
        self.child = None

    def _stderr_tail(self) -> str:
        self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, self.stderr.tell() - STDERR_TAIL))
        return " ".join(self.stderr.read().decode(errors="replace").split())


def herd(
    batches: Iterable[tuple[list[str], list[str]]],
    jobs: int,
    limit_s: float,
    limit_gib: float,
    report: Callable[[str, dict], None],
    env: dict[str, str] | None = None,
) -> None:
    """Runs each batch (command, items) in a worker of its own, `jobs` batches at a time.

    `report(item, answer)` is called under a lock.
    """
    waiting = queue.SimpleQueue()
    for batch in batches:
        waiting.put(batch)
    lock, failures = threading.Lock(), collections.deque()

    def drive() -> None:
        while not failures:
            try:
                command, items = waiting.get_nowait()
            except queue.Empty:
                return
            shepherd = Shepherd(command, limit_s, limit_gib, env)
            try:
                for item in items:
                    answer = shepherd.run(item)
                    with lock:
                        report(item, answer)
            except BaseException as error:
                failures.append(error)
            finally:
                shepherd.close()

    threads = [threading.Thread(target=drive) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def memory_limit_gib(jobs: int) -> float:
    """What one worker may use so that all of them leave the machine a third of its memory."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return round(total * 2 / 3 / jobs, 1)
