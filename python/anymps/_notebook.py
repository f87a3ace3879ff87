"""Runs a notebook's code cells in order, as Jupyter does, without Jupyter: python -m anymps._notebook FILE.ipynb

The cells share one namespace, which is `__main__`. A last expression is shown and kept in `Out`, as are the three
latest in `_`, `__`, `___`. A line of a cell is named `FILE.ipynb[cell 3]:2` in tracebacks and findings, by the number
that the cell has in `In`. Status: 0, or 1 where a cell raised, or 2 where there is no such notebook.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import re
import sys
import traceback
from types import ModuleType
from typing import Any

_LATEST = ("_", "__", "___")

# Magics of a line or, with %%, of a cell: those that do nothing to the results,
_QUIET = {"autoreload", "config", "load_ext", "matplotlib"}
# and those that run what they are in front of; here, once.
_RUNNING = {"capture", "prun", "time", "timeit"}

_MAGIC = re.compile(r"(?P<indent>\s*)(?P<target>[\w\s,.]+=\s*)?(?P<sign>%|!)(?P<name>\s*[A-Za-z_]\w*)(?P<rest>.*)")
_HELP = re.compile(r"(?P<indent>\s*)(\?+\s*[\w.]+|[\w.]+\s*\?+)\s*")
_OPTIONS = re.compile(r"\s*(-[cnopqrt](\s*\d+)?\s+)*")


class NotANotebook(Exception):
    pass


class CellError(Exception):
    """What is wrong with a cell, in one line that names its place."""


def _say(text: str) -> None:
    print(f"anymps: {text}", file=sys.stderr)


def code_cells(path: str) -> list[str]:
    """The texts of the code cells that have any."""
    try:
        with open(path, encoding="utf-8") as file:
            notebook = json.load(file)
        cells = notebook["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
        language = notebook.get("metadata", {}).get("language_info", {}).get("name", "python")
    except OSError as error:
        raise NotANotebook(error.strerror) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise NotANotebook("it is no notebook of format 4") from error
    if language != "python":
        raise NotANotebook(f"its language is {language}")
    texts = [source if isinstance(source, str) else "".join(source) for source in sources]
    return [text for text in texts if text.strip()]


class Cell:
    def __init__(self, notebook: str, number: int, source: str) -> None:
        self.number = number
        self.name = f"{notebook}[cell {number}]"
        self.source = source
        lines = [line + "\n" for line in source.split("\n")]
        linecache.cache[self.name] = (len(source), None, lines, self.name)

    def _skip(self, line: int, what: str) -> None:
        _say(f"{self.name}:{line}: skipped {what.strip()}")

    def _without_magic(self) -> list[str]:
        """The lines, without a magic of the whole cell."""
        lines = self.source.split("\n")
        first = next(index for index, line in enumerate(lines) if line.strip())
        if not lines[first].startswith("%%"):
            return lines
        name, *_ = lines[first].removeprefix("%%").split() or [""]
        if name not in _RUNNING | _QUIET:
            self._skip(first + 1, f"the cell of {lines[first]}")
            return []
        lines[first] = ""
        return lines

    def _plain(self, number: int, line: str) -> str | None:
        """The Python that stands for a line of IPython's; None where it is not one."""
        if match := _HELP.fullmatch(line):
            self._skip(number, line)
            return match["indent"] + "pass"
        if (match := _MAGIC.fullmatch(line)) is None:
            return None
        target = match["target"] or ""
        if match["sign"] == "%" and match["name"] in _RUNNING:
            return match["indent"] + target + (_OPTIONS.sub("", match["rest"], count=1) or "pass")
        if match["sign"] != "%" or match["name"] not in _QUIET:
            self._skip(number, line)
        return match["indent"] + (f"{target}[]" if target else "pass")

    def parse(self) -> ast.Module:
        lines = self._without_magic()
        while True:
            try:
                return ast.parse("\n".join(lines) + "\n", self.name)
            except SyntaxError as error:
                # Only what Python does not understand is taken for a magic: a line that begins with % may be the
                # middle of an expression or of a text.
                number = error.lineno or 0
                plain = self._plain(number, lines[number - 1]) if 0 < number <= len(lines) else None
                if plain is None:
                    raise error.with_traceback(None) from None
                lines[number - 1] = plain

    def compile(self, tree: ast.Module | ast.Expression, mode: str):
        try:
            return compile(tree, self.name, mode, dont_inherit=True)
        except SyntaxError as error:
            if "outside" in error.msg and ("await" in error.msg or "async" in error.msg):
                raise CellError(
                    f"{self.name}:{error.lineno}: top-level await is not supported; "
                    "put it into a function and call asyncio.run()"
                ) from None
            raise error.with_traceback(None) from None


class Notebook:
    """The namespace that the cells share, and what Jupyter keeps in it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.main = ModuleType("__main__")
        self.names = self.main.__dict__
        self.inputs = [""]
        self.outputs: dict[int, Any] = {}
        self.lines: dict[int, int] = {}  # of the expression that an output is from
        self.latest: list[int] = []  # outputs that _, __ and ___ hold
        self.names |= {"In": self.inputs, "Out": self.outputs, "display": display} | dict.fromkeys(_LATEST, "")

    def run_cell(self, source: str) -> None:
        self.inputs.append(source)
        cell = Cell(self.path, len(self.inputs) - 1, source)
        tree = cell.parse()
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
            last = tree.body.pop()
        body = cell.compile(tree, "exec")
        expression = cell.compile(ast.Expression(last.value), "eval") if last is not None else None
        exec(body, self.names)
        if expression is not None and (value := eval(expression, self.names)) is not None:
            self._keep(cell.number, last.lineno, value)
            display(value)

    def _keep(self, number: int, line: int, value: Any) -> None:
        self.outputs[number] = value
        self.lines[number] = line
        self.latest = [number, *self.latest][: len(_LATEST)]
        for name, before in (("___", "__"), ("__", "_")):
            self.names[name] = self.names.get(before, "")
        self.names["_"] = self.names[f"_{number}"] = value

    def kept(self) -> list[tuple[str, int, Any]]:
        """What is kept by Jupyter and not by the program: by which name, from which cell, and the value."""
        kept = [(f"Out[{number}]", number, value) for number, value in self.outputs.items() if number in self.lines]
        for name, number in zip(_LATEST, self.latest, strict=False):
            if number not in self.outputs and name in self.names:
                kept.append((name, number, self.names[name]))
        return kept


def display(*values: Any) -> None:
    for value in values:
        print(repr(value))


def _tensors(value: Any) -> list:
    """Those in lists, tuples and dictionaries, too, which may contain themselves."""
    import torch

    found = []
    waiting = [value]
    seen = set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, torch.Tensor):
            found.append(part)
        elif isinstance(part, (list, tuple)):
            waiting.extend(part)
        elif isinstance(part, dict):
            waiting.extend(part.values())
    return found


def _record_kept(notebook: Notebook) -> None:
    from anymps import _C

    if not _C.checking():
        return
    for name, number, value in notebook.kept():
        on_device = [tensor for tensor in _tensors(value) if tensor.device.type == "mps"]
        if not on_device:
            continue
        storages = [tensor.untyped_storage() for tensor in on_device]
        sizes = {storage.data_ptr(): storage.nbytes() for storage in storages}
        site = f"{notebook.path}[cell {number}]:{notebook.lines[number]}"
        _C.note_finding_at(site, "notebook-out-keeps", name, sum(sizes.values()))


def _without_our_frames(trace):
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def run(path: str) -> int:
    try:
        cells = code_cells(path)
    except NotANotebook as error:
        _say(f"{path}: {error}")
        return 2
    notebook = Notebook(path)
    # Classes of the notebook are pickled by this name.
    sys.modules["__main__"] = notebook.main
    try:
        for source in cells:
            notebook.run_cell(source)
    except CellError as error:
        _say(str(error))
        return 1
    except Exception as error:
        traceback.print_exception(type(error), error, _without_our_frames(error.__traceback__))
        return 1
    finally:
        if "anymps._C" in sys.modules:  # the notebook imported torch
            _record_kept(notebook)
    return 0


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: python -m anymps._notebook FILE.ipynb [ARGUMENT...]", file=sys.stderr)
        return 2
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    # Jupyter draws into the page; there is none.
    os.environ.setdefault("MPLBACKEND", "agg")
    return run(sys.argv[0])


if __name__ == "__main__":
    sys.exit(main())
