"""Runs snippets as `python -c` would, without the seconds that importing torch takes.

One process imports torch alone, as PyTorch does with TORCH_DEVICE_BACKEND_AUTOLOAD=0, and forks for each snippet. There
`import torch` takes what is imported already and then looks for device backends, so that anymps is loaded where, and
with the environment with which, a fresh interpreter would load it.
"""

from __future__ import annotations

import array
import gc
import importlib.abc
import importlib.machinery
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import types

SIZE = 8  # bytes of a message's length

# Begins with -c as well, so that no stack of a snippet has a frame that a fresh interpreter would not have.
PROGRAM = """
import sys
sys.path[0] = sys.argv[2]
import socket, torch, ready_interpreter
code = ready_interpreter.serve(socket.socket(fileno=int(sys.argv[1])))
if code is not None:
    exec(compile(code, "<string>", "exec"), ready_interpreter.prepare(torch))
"""


class Ready:
    """The process that forks, as seen by the tests."""

    def __init__(self) -> None:
        self.socket, far = socket.socketpair()
        with far:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(far.fileno()), os.path.dirname(__file__)],
                env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[far.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def close(self) -> None:
        self.socket.close()
        self.process.wait()

    def run(self, code: str, environment: dict[str, str], timeout: float) -> subprocess.CompletedProcess:
        message = json.dumps({"code": code, "environment": environment, "timeout": timeout}).encode()
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            streams = array.array("i", [output.fileno(), errors.fileno()])
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)]
            self.socket.sendmsg([len(message).to_bytes(SIZE, "big")], ancillary)
            self.socket.sendall(message)
            status = json.loads(self.socket.recv(64))
            printed = []
            for stream in (output, errors):
                stream.seek(0)
                printed.append(stream.read().decode())
        if status is None:
            raise subprocess.TimeoutExpired(code, timeout, *printed)
        return subprocess.CompletedProcess(["python", "-c", code], status, *printed)


class LateTorch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the torch that is imported already, once, and has it look for device backends."""

    def __init__(self, torch: types.ModuleType) -> None:
        self.torch, self.specification = torch, torch.__spec__
        del sys.modules["torch"]
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "torch" else None

    def create_module(self, specification):
        return self.torch

    def exec_module(self, module):
        sys.meta_path.remove(self)
        module.__spec__ = self.specification
        if module._is_device_backend_autoload_enabled():
            module._import_device_backends()


def ended(child: int, timeout: float) -> int | None:
    """The status that subprocess would tell, or None for a child that did not end in time and was killed."""
    end = os.pidfd_open(child)
    in_time = bool(select.select([end], [], [], timeout)[0])
    os.close(end)
    if not in_time:
        os.kill(child, 9)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status if in_time else None


def serve(connection: socket.socket) -> str | None:
    """Forks for each request: returns its code in the child, None where nobody asks any more."""
    # What is there already would otherwise be looked through, and so copied, when a child ends.
    gc.collect()
    gc.freeze()
    while True:
        head, ancillary, *_ = connection.recvmsg(SIZE, socket.CMSG_SPACE(2 * 4))
        if not head:
            return None
        streams = array.array("i")
        streams.frombytes(ancillary[0][2])
        left, body = int.from_bytes(head, "big"), b""
        while len(body) < left:
            body += connection.recv(left - len(body))
        request = json.loads(body)
        child = os.fork()
        if child == 0:
            connection.close()
            for number, stream in enumerate(streams, start=1):
                os.dup2(stream, number)
                os.close(stream)
            os.environ.clear()
            os.environ.update(request["environment"])
            return request["code"]
        for stream in streams:
            os.close(stream)
        connection.sendall(json.dumps(ended(child, request["timeout"])).encode())


def prepare(late: types.ModuleType) -> dict:
    """Has the child look like a fresh interpreter; returns the variables of its main module."""
    LateTorch(late)
    sys.argv = ["-c"]
    sys.path[0] = ""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    return main.__dict__
