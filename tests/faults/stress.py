"""Everything at once, for as long as it is let: threads, forks, compilers, a full device, signals.

    python tests/faults/stress.py --minutes 30

Eight threads compute on the device and compare each result with the CPU's. Beside them one thread compiles kernels and
runs them, one fills the device until it refuses, one forks children that compute too, and a timer sends signals. At the
end come the figures. The status is 1 where a result was wrong, a child failed, or the process kept growing.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import sys
import threading
import time
import traceback

import torch

THREADS = 8
# Of resident memory between the first quarter, when everything has been used once, and the end.
MOST_GROWTH = 1.10
# What is kept of compiled kernels (docs/cache.md): a slow machine fills it in the second half.
KEPT_KERNELS = 64 << 20
SIGNALS_PER_SECOND = 20

counts: collections.Counter = collections.Counter()
failures: list[str] = []
ends = threading.Event()


def unary(x):
    return torch.nn.functional.gelu(x) + x.sin() * x.exp().clamp(max=10)


def matrices(x):
    return torch.linalg.vector_norm(x @ x.T, dim=1)


def indexed(x):
    return x[x[:, 0].argsort()].cumsum(0)[::2]


def convolved(x):
    image = x.reshape(1, 1, *x.shape)
    return torch.nn.functional.conv2d(image, torch.ones(2, 1, 3, 3, device=x.device) / 9, padding=1)


def with_gradient(x):
    x = x.clone().requires_grad_()
    torch.nn.functional.layer_norm(x, x.shape[1:]).square().sum().backward()
    return x.grad


WORK = (unary, matrices, indexed, convolved, with_gradient)


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    return torch.allclose(found.cpu(), expected, rtol=1e-3, atol=1e-3)


def computes(seed: int) -> None:
    chance = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    while not ends.is_set():
        work = chance.choice(WORK)
        x = torch.randn(chance.randrange(2, 200), chance.randrange(3, 200), generator=generator)
        try:
            found = work(x.to("mps"))
        except RuntimeError as error:
            # The thread that fills the device was faster.
            if "out of memory" not in str(error):
                raise
            counts["refused"] += 1
            continue
        counts["operations"] += 1
        if not close(found, work(x)):
            failures.append(f"{work.__name__} of {tuple(x.shape)} differs from the CPU (thread {seed})")


def compiles() -> None:
    number = 0
    while not ends.is_set():
        number += 1
        # Below 2**24, where sums and products have no rounding that the compiler could change.
        factor, addend = number % 16000, number // 16000
        source = (
            "kernel void k(device float* o, device const float* a, uint i [[thread_position_in_grid]])"
            f" {{ o[i] = a[i] * {factor}.0f + {addend}.0f; }}"
        )
        a = torch.arange(1000.0)
        try:
            out = torch.zeros(1000, device="mps")
            torch.mps.compile_shader(source).k(out, a.to("mps"))
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            counts["refused"] += 1
            continue
        counts["kernels"] += 1
        if not torch.equal(out.cpu(), a * factor + addend):
            failures.append(f"kernel {number} is wrong")


def fills() -> None:
    while not ends.is_set():
        kept = []
        try:
            while not ends.is_set():
                kept.append(torch.empty(16 << 20, dtype=torch.uint8, device="mps"))
                counts["blocks"] += 1
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            counts["refused"] += 1
        ends.wait(0.1)  # the others meet a full device, too
        kept.clear()
        torch.mps.empty_cache()
        ends.wait(0.5)


def forks() -> None:
    refused = 4
    while not ends.is_set():
        child = os.fork()
        if child == 0:
            status = 1
            try:
                x = torch.ones(64, 64, device="mps")
                status = 0 if (x @ x).cpu().eq(64).all() else 3
            except RuntimeError as error:
                status = refused if "out of memory" in str(error) else 1
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        counts["refused" if status == refused else "forks"] += 1
        if status not in (0, refused):
            failures.append(f"a child that was forked ended with {status}")
        ends.wait(0.5)


def watched(work, *arguments) -> threading.Thread:
    def run() -> None:
        try:
            work(*arguments)
        except BaseException:
            failures.append(f"{work.__name__}: {traceback.format_exc()}")
            ends.set()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit-mib", type=int, default=4096, help="what the device gives this process")
    options = parser.parse_args()

    torch.mps.set_per_process_memory_fraction((options.limit_mib << 20) / torch.mps.recommended_max_memory())
    signal.signal(signal.SIGALRM, lambda *_: counts.update(signals=1))
    signal.setitimer(signal.ITIMER_REAL, 1 / SIGNALS_PER_SECOND, 1 / SIGNALS_PER_SECOND)
    threads = [watched(computes, options.seed + i) for i in range(THREADS)]
    threads += [watched(compiles), watched(fills), watched(forks)]
    began = time.monotonic()
    lasts = options.minutes * 60
    early: list[int] = []
    late: list[int] = []
    while (passed := time.monotonic() - began) < lasts and not ends.is_set():
        time.sleep(min(1, lasts - passed))
        if lasts / 4 <= passed < lasts / 2:
            early.append(resident_bytes())
        elif passed >= 3 * lasts / 4:
            late.append(resident_bytes())
        shown = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        print(f"\r{passed:5.0f} s: {shown}", end="", file=sys.stderr, flush=True)
    ends.set()
    signal.setitimer(signal.ITIMER_REAL, 0)
    for thread in threads:
        thread.join()
    print(file=sys.stderr)
    print(f"{time.monotonic() - began:.0f} s: " + ", ".join(f"{c} {name}" for name, c in sorted(counts.items())))
    if early and late:
        # What is filled comes and goes; the peaks are what grows.
        print(f"resident: at most {max(early) >> 20} MiB in the second quarter, {max(late) >> 20} MiB in the last")
        if max(late) > MOST_GROWTH * max(early) + KEPT_KERNELS:
            failures.append("the process kept growing")
    print("\n".join(failures[:20]) or "nothing was wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
