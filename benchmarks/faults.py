"""Small faults that can be planted in a module, one at a time.

An operator, a name or a constant is exchanged, a condition is always true or false, a
statement is left out; not in error messages and type hints.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_PAIRS = ["< <=", "> >=", "== !=", "+ -", "* /", "& |", "<< >>", "+= -=", "*= /="]
_PAIRS += ["and or", "min max", "minimum maximum", "floor ceil", "argmin argmax"]
_PAIRS += ["any all", "left right", "True False", "continue break"]
EXCHANGED = {a: b for pair in _PAIRS for a, b in (pair.split(), pair.split()[::-1])}
EXCHANGED |= {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}
EXCHANGED |= {"//": "/", "**": "*", "%": "//"}


class Mutant(NamedTuple):
    """Bytes of a file and what stands in their place."""

    file: str
    line: int
    start: int
    end: int
    new: str
    what: str


class Source:
    """A module, its syntax tree, and where in the bytes a node lies."""

    def __init__(self, root: Path, file: str) -> None:
        self.file, self.bytes = file, (root / file).read_bytes()
        self.tree = ast.parse(self.bytes)
        self.starts = [0]
        for row in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(row))
        self.parent = {
            child: node
            for node in ast.walk(self.tree)
            for child in ast.iter_child_nodes(node)
        }

    def span(self, node: Any) -> tuple[int, int]:
        """Return the first byte of a node and the one after its last."""
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the node and what it is part of, from the inside out."""
        while node is not self.tree:
            yield node
            node = self.parent[node]

    def mutants(self) -> list[Mutant]:
        """Return every change of the module that can be drawn."""
        found = []
        for node in _outside_text(self.tree):
            for start, end, new in self._changes(node):
                line = self.bytes[:start].count(b"\n") + 1
                old = " ".join(self.bytes[start:end].decode().split())
                what = f"{old} -> {new}"
                found.append(Mutant(self.file, line, start, end, new, what))
        return found

    def _changes(self, node: Any) -> Iterator[tuple[int, int, str]]:
        yield from self._value(node)
        yield from self._statement(node)
        match node:
            case ast.Compare(left=left, comparators=right):
                yield from self._between([left, *right])
            case ast.BoolOp(values=values):
                yield from self._between(values)
            case ast.BinOp(left=left, right=right):
                yield from self._between([left, right])
            case ast.AugAssign(target=target, value=value):
                yield from self._between([target, value])
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                start, end = self.span(operand)
                yield *self.span(node), f"({self.bytes[start:end].decode()})"

    def _value(self, node: Any) -> Iterator[tuple[int, int, str]]:
        match node:
            case ast.Constant(value=bool() | str()):
                if new := EXCHANGED.get(str(node.value)):
                    quote = '"' if isinstance(node.value, str) else ""
                    yield *self.span(node), f"{quote}{new}{quote}"
            case ast.Constant(value=int() | float()):
                yield *self.span(node), repr(node.value + 1)
            case ast.Name(id=name) if name in EXCHANGED:
                yield *self.span(node), EXCHANGED[name]
            case ast.Attribute(attr=name) if name in EXCHANGED:
                end = self.span(node)[1]
                yield end - len(name), end, EXCHANGED[name]

    def _statement(self, node: Any) -> Iterator[tuple[int, int, str]]:
        match node:
            case ast.If(test=test) | ast.IfExp(test=test):
                yield *self.span(test), "True"
                yield *self.span(test), "False"
            case ast.While(test=test):
                yield *self.span(test), "False"
            case ast.comprehension(ifs=tests):
                for test in tests:
                    yield *self.span(test), "True"
            case ast.Return(value=value) if value is not None:
                last = isinstance(self.parent[node], ast.FunctionDef)
                yield *self.span(node), "return None" if last else "pass"
            case (
                ast.Raise()
                | ast.AugAssign()
                | ast.Continue()
                | ast.Break()
                | ast.Expr(value=ast.Call())
                | ast.Assign(targets=[ast.Subscript() | ast.Attribute()])
            ):
                yield *self.span(node), "pass"

    def _between(self, operands: list[ast.expr]) -> Iterator[tuple[int, int, str]]:
        """Yield the exchanges of the operators between operands."""
        for left, right in itertools.pairwise(operands):
            start, end = self.span(left)[1], self.span(right)[0]
            # Parentheses and comments may stand there, too.
            gap = re.sub(rb"#.*", lambda m: b" " * len(m[0]), self.bytes[start:end])
            token = re.search(rb"not\s+in|is\s+not|\w+|[^\s()\\\w]+", gap)
            new = token and EXCHANGED.get(" ".join(token[0].decode().split()))
            if new:
                yield start + token.start(), start + token.end(), new


def _outside_text(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes outside of type hints, f-strings, errors and decorators."""
    hidden: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in hidden:
            hidden.update(ast.iter_child_nodes(node))
            continue
        for name in ("annotation", "returns", "decorator_list"):
            inner = getattr(node, name, None) or []
            hidden.update(inner if isinstance(inner, list) else [inner])
        if isinstance(node, ast.JoinedStr | ast.Raise):
            hidden.update(ast.iter_child_nodes(node))
        yield node
