"""On which thread the backward pass runs: the caller's, unless the environment or the program asks for the device's."""

import threading

import torch

WHERE = """
import threading, torch
x = torch.ones(3, device="mps", requires_grad=True)
seen = []
x.register_hook(lambda grad: seen.append(threading.get_ident()))
(x * 2).sum().backward()
print(seen == [threading.get_ident()])
"""


def threads_of_hooks() -> list[int]:
    x = torch.ones(3, device="mps", requires_grad=True)
    seen = []
    x.register_hook(lambda grad: seen.append(threading.get_ident()))
    (x * 2).sum().backward()
    return seen


def test_backward_stays_on_the_calling_thread():
    assert threads_of_hooks() == [threading.get_ident()]


def test_backward_stays_on_the_calling_thread_when_that_is_not_the_main_one():
    found = []
    thread = threading.Thread(target=lambda: found.append((threads_of_hooks(), threading.get_ident())))
    thread.start()
    thread.join()
    (hooks, caller) = found[0]
    assert hooks == [caller]


def test_the_program_may_ask_for_the_devices_thread():
    with torch.autograd.set_multithreading_enabled(True):
        assert threads_of_hooks() != [threading.get_ident()]


def test_the_environment_keeps_the_thread_that_a_mac_has(python):
    assert python(WHERE).stdout == "True\n"
    assert python(WHERE, ANYMPS_BACKWARD_THREAD="1").stdout == "False\n"
