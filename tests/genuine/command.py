"""Launches by `anymps metal run`: of kernels whose threadgroup memory the launch sizes, which torch.mps cannot say."""

import pathlib
import subprocess
import sysconfig
import tempfile

import harness
import torch

EXECUTABLE = pathlib.Path(sysconfig.get_path("scripts")) / "anymps"


def triple(numbers) -> str:
    return ",".join(map(str, numbers))


def run(name: str, buffers, threads, group, threadgroup: list[int], written: list[int]) -> list:
    """The buffers of these numbers, as the kernel left them."""
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for i, buffer in enumerate(buffers):
            path = pathlib.Path(folder) / f"{i}.bin"
            path.write_bytes(buffer.cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
            kind = "uchar:" if buffer.dtype == torch.uint8 else ""  # a struct: the signature has no type for it
            words += ["--arg", f"{kind}@{path}"]
        for i, count in enumerate(threadgroup):
            words += ["--threadgroup-bytes", f"{i}={count}"]
        for i in written:
            words += ["--out", f"{i}={folder}/out{i}.bin"]
        command = [EXECUTABLE, "metal", "run", harness.library(), name, "--threads", triple(threads)]
        done = subprocess.run([*command, "--group", triple(group), *words], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return [read(pathlib.Path(folder) / f"out{i}.bin", buffers[i]) for i in written]


def read(path: pathlib.Path, like: torch.Tensor) -> torch.Tensor:
    return torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8).view(like.dtype).view(like.shape)
