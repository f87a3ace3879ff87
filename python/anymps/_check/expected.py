"""Whether the program expects an error where it is: a refusal that it catches is no finding, and has to happen.

Looked for in the source, as nothing of it has run yet: an `except` that names the error's class or one between it and
Exception, and does not raise it again; pytest.raises, unittest's assertRaises and contextlib.suppress. A handler of all
exceptions expects none in particular.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import sys
import types
from collections.abc import Iterator

# Context managers that take the classes of the errors that they expect. RaisesExc is what pytest.raises makes.
_CONTEXTS = {"raises", "RaisesExc", "assertRaises", "assertRaisesRegex", "suppress"}
_FRAMES = 60


def install(module) -> None:
    module.set_expectation(expects)


def expects(name: str) -> bool:
    """Whether an error of this built-in class, raised now, would be caught by somebody who names it."""
    error = getattr(builtins, name)
    frame: types.FrameType | None = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame is None:
            return False
        if _expects_in(frame, error):
            return True
        frame = frame.f_back
    return False


def _expects_in(frame: types.FrameType, error: type) -> bool:
    for node in _around(frame.f_code, frame.f_lineno):
        if isinstance(node, ast.Try):
            if any(_catches(handler, frame, error) for handler in node.handlers):
                return True
        elif any(_context_expects(item.context_expr, frame, error) for item in node.items):
            return True
    # assertRaises(error, function): the function is called by the context manager itself.
    waiting = frame.f_locals.get("self") if frame.f_code.co_name == "handle" else None
    return type(waiting).__module__ == "unittest.case" and _matches(getattr(waiting, "expected", None), error)


def _catches(handler: ast.ExceptHandler, frame: types.FrameType, error: type) -> bool:
    if handler.type is None or any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler)):
        return False
    named = _value(handler.type, frame)
    classes = named if isinstance(named, tuple) else (named,)
    return any(_matches(found, error) for found in classes if found not in (Exception, BaseException))


def _context_expects(call: ast.expr, frame: types.FrameType, error: type) -> bool:
    if not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _CONTEXTS and any(_matches(_value(argument, frame), error) for argument in call.args)


def _matches(found: object, error: type) -> bool:
    try:
        return issubclass(error, found)  # type: ignore[arg-type]
    except TypeError:
        return False


def _value(node: ast.expr, frame: types.FrameType) -> object:
    """What a name, a dotted name or a tuple of them stands for there; None for all else."""
    if isinstance(node, ast.Name):
        for scope in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in scope:
                return scope[node.id]
    elif isinstance(node, ast.Attribute):
        return getattr(_value(node.value, frame), node.attr, None)
    elif isinstance(node, ast.Tuple):
        return tuple(_value(element, frame) for element in node.elts)
    return None


@functools.lru_cache(maxsize=4096)
def _around(code: types.CodeType, line: int) -> tuple[ast.Try | ast.With | ast.AsyncWith, ...]:
    """The `try` and `with` of this function whose bodies have this line."""
    return tuple(
        node
        for node in _guards(code.co_filename)
        if node.lineno >= code.co_firstlineno and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)
    )


@functools.lru_cache(maxsize=256)
def _guards(file: str) -> tuple[ast.Try | ast.With | ast.AsyncWith, ...]:
    def found() -> Iterator[ast.AST]:
        try:
            tree = ast.parse("".join(linecache.getlines(file)))
        except (SyntaxError, ValueError, RecursionError):
            return
        yield from ast.walk(tree)

    return tuple(node for node in found() if isinstance(node, (ast.Try, ast.With, ast.AsyncWith)))
