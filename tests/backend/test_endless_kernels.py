"""A kernel without end is ended by Ctrl-C, as anything else in Python is."""

import signal
import subprocess
import sys
import time

PROGRAM = """
import signal, sys, torch
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs do not have
x = torch.zeros(2, device="mps")
library = torch.mps.compile_shader('''
    kernel void endless(volatile device float* o, uint i [[thread_position_in_grid]]) { while (o[i % 2] == 0) {} }
    kernel void one(device float* o, uint i [[thread_position_in_grid]]) { o[i] = 1; }''')
print("begins", flush=True)
try:
    library.endless(x, threads=int(sys.argv[1]))
except KeyboardInterrupt as error:
    library.one(x)
    print(f"ended: {error}, then {x.tolist()}", flush=True)
"""


def test_ctrl_c_ends_a_launch():
    for threads in ("1", "100000"):
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, threads], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline() == "begins\n"
            time.sleep(1.5)  # it must run by then
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
        assert output == "ended: endless: it was interrupted, then [1.0, 1.0]\n"
