"""Which files the source of a shader may include.

PyTorch pastes what a source includes before any compiler sees it, by joining the name to its folder of headers: an
absolute name, or one that leaves the folder, would put any file of the disk into the program and into its errors.
"""

from __future__ import annotations

import functools
import os
import re

import torch

_INCLUDE = re.compile(r'(\s*#)(include\s*[<"]([^>"]+))')


def _within_the_folder(line: str) -> str:
    """PyTorch passes over `# include`; the compiler, which finds no such file, takes it for the same as `#include`."""
    found = _INCLUDE.match(line)
    if found is None:
        return line
    name = os.path.normpath(found[3])
    leaves = os.path.isabs(name) or name.split(os.sep)[0] == os.pardir
    return f"{found[1]} {line[found.start(2) :]}" if leaves else line


def attach() -> None:
    original = torch.mps.compile_shader

    @functools.wraps(original)
    def compile_shader(source: str):
        return original("\n".join(_within_the_folder(line) for line in source.split("\n")))

    torch.mps.compile_shader = compile_shader
