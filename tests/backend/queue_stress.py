"""Eight threads of Python on four streams of the device: random programs, synchronisations and forks, until the time is
up.

    ANYMPS_AS_TORCH=2.15 ANYMPS_QUEUE=async python tests/backend/queue_stress.py SECONDS [SEED]

Each thread's tensors are equal to the CPU's to the bit, or it ends with status 1; so it does where a child of a fork
has other numbers than its parent, or where memory grows. What is stuck for two minutes prints where it is, and ends.
"""

import faulthandler
import os
import pathlib
import random
import sys
import threading
import time
import traceback

import torch
from queue_program import Program

THREADS, STREAMS, STEPS = 8, 4, 60
STUCK_S = 120
SECONDS_BETWEEN_FORKS = 1.0
# What memory may grow by between the first third and the last: caches that are filled late.
GROWTH = 1.1
GROWTH_BYTES = 96 << 20


class Threads:
    """They stop between two programs while the host forks, with what they queued still in flight."""

    def __init__(self, seed: int) -> None:
        self.seeds = random.Random(seed)
        self.condition = threading.Condition()
        self.paused = self.ended = False
        self.at_rest = self.programs = 0
        self.failures: list[str] = []
        streams = [torch.mps.Stream() for _ in range(STREAMS)]
        self.threads = [
            threading.Thread(target=self.work, args=(streams[number % STREAMS],)) for number in range(THREADS)
        ]

    def work(self, stream) -> None:
        torch.set_num_threads(1)
        with torch.mps.stream(stream):
            while self.go_on():
                with self.condition:
                    seed = self.seeds.randrange(1 << 30)
                try:
                    Program(seed).run(STEPS)
                    (stream if seed % 2 else torch.mps).synchronize()
                except BaseException:
                    with self.condition:
                        self.failures.append(f"seed {seed}\n{traceback.format_exc()}")
                        self.ended = True

    def go_on(self) -> bool:
        with self.condition:
            self.programs += 1
            self.at_rest += 1
            self.condition.notify_all()
            self.condition.wait_for(lambda: not self.paused or self.ended)
            self.at_rest -= 1
            return not self.ended

    def fork(self) -> bool:
        """Whether the child had the right numbers."""
        with self.condition:
            self.paused = True
            self.condition.wait_for(lambda: self.at_rest == THREADS or self.ended)
        tensor = torch.ones(1000, device="mps")
        for _ in range(50):
            tensor = tensor * 1.01
        child = os.fork()
        total = (tensor * 2).sum().item()
        if child == 0:
            os._exit(0 if total == 2 * tensor.sum().item() and 3280 < total < 3300 else 1)
        status = os.waitpid(child, 0)[1]
        with self.condition:
            self.paused = False
            self.condition.notify_all()
        return status == 0


def resident_bytes() -> int:
    status = pathlib.Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmRSS"))


def main() -> int:
    seconds = float(sys.argv[1])
    torch.set_num_threads(1)
    threads = Threads(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for thread in threads.threads:
        thread.start()
    began, sizes, forks = time.monotonic(), [], 0
    while time.monotonic() - began < seconds and not threads.failures:
        faulthandler.dump_traceback_later(STUCK_S, exit=True)
        time.sleep(min(SECONDS_BETWEEN_FORKS, seconds / 10))
        forks += 1
        if not threads.fork():
            threads.failures.append("a child of a fork had other numbers")
        sizes.append(resident_bytes())
    with threads.condition:
        threads.ended = True
        threads.condition.notify_all()
    for thread in threads.threads:
        thread.join()
    faulthandler.cancel_dump_traceback_later()
    third = max(1, len(sizes) // 3)
    early, late = max(sizes[:third]), max(sizes[-third:])
    if late > GROWTH * early + GROWTH_BYTES:
        threads.failures.append(f"memory grew from {early >> 20} to {late >> 20} MiB")
    print(f"{threads.programs} programs, {forks} forks, {early >> 20} MiB and then {late >> 20} MiB resident")
    print("\n".join(threads.failures), end="", file=sys.stderr)
    return 1 if threads.failures else 0


if __name__ == "__main__":
    sys.exit(main())
