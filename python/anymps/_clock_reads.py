"""Where a program measures a time: from the reading of a clock to its difference with a later one.

`anymps check` carries this file and runs it by `python -I -c` on the sources of the user's program, which it only
parses. It prints JSON: {FILE: [{"first": LINE, "last": LINE, "loops": [{"first": LINE, "last": LINE}]}]}. A file that
cannot be parsed has no intervals.
"""

import ast
import json
import sys

CLOCKS = {
    *(f"time.{name}{suffix}" for name in ("time", "perf_counter", "monotonic") for suffix in ("", "_ns")),
    "timeit.default_timer",
    *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
}
MODULES = {name.split(".")[0] for name in CLOCKS}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def imported_names(tree):
    """What each name that an import binds stands for, wherever the import is: {"p": "time.perf_counter"}."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = alias.name
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                if alias.name == "*":
                    names.update({clock.split(".")[1]: clock for clock in CLOCKS if clock.count(".") == 1})
                else:
                    names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(node):
    """ "a.b.c" of a name or a chain of attributes; None of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return before and f"{before}.{node.attr}"
    return None


def nodes_of(scope):
    """The nodes of a scope in the order of their ends, the inner first, without those of functions inside it."""
    found = []
    waiting = list(scope.body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
    return sorted(
        (node for node in reversed(found) if hasattr(node, "lineno")),
        key=lambda node: (node.end_lineno, node.end_col_offset),
    )


def assignments(node):
    """Pairs of a target's name and the value it gets."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        targets = [node.target]
    else:
        return
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = zip(target.elts, node.value.elts, strict=False)
        else:
            pairs = [(target, node.value)]
        for one, value in pairs:
            if name := dotted(one):
                yield name, value


class Scope:
    def __init__(self, body, imports):
        self.nodes = nodes_of(body)
        self.imports = imports
        self.read_at = {}  # the line at which the clock was read that a name holds

    def clock_line(self, node):
        """The line of the reading that an expression stands for, or None."""
        if isinstance(node, ast.Call):
            first, dot, rest = (dotted(node.func) or "").partition(".")
            return node.lineno if self.imports.get(first, "") + dot + rest in CLOCKS else None
        return self.read_at.get(dotted(node))

    def intervals(self):
        loops = [node for node in self.nodes if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
        for node in self.nodes:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                first, last = self.clock_line(node.right), self.clock_line(node.left)
                if first is not None and last is not None and first <= last:
                    inside = [
                        {"first": loop.lineno, "last": loop.end_lineno}
                        for loop in loops
                        if first <= loop.lineno and loop.end_lineno <= last
                    ]
                    yield {"first": first, "last": last, "loops": inside}
            for name, value in assignments(node):
                line = self.clock_line(value)
                if line is None:
                    self.read_at.pop(name, None)
                else:
                    self.read_at[name] = line


def intervals_in(source):
    tree = ast.parse(source)
    imports = imported_names(tree)
    scopes = [tree, *(node for node in ast.walk(tree) if isinstance(node, SCOPES))]
    found = []
    for scope in scopes:
        for interval in Scope(scope, imports).intervals():
            if interval not in found:
                found.append(interval)
    return found


def intervals_of(path):
    try:
        with open(path, "rb") as file:
            return intervals_in(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []


if __name__ == "__main__":
    json.dump({path: intervals_of(path) for path in sys.argv[1:]}, sys.stdout)
