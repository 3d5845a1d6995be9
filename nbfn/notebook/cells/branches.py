"""Changes in place where they have no meaning: in what TensorFlow decides, and on replicas."""

from __future__ import annotations

import ast
import linecache
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import tensorflow as tf

from nbfn.notebook.cells.code_names import named_by
from nbfn.notebook.cells.contents import Content, is_graph_tensor
from nbfn.notebook.cells.frames import cell_name, is_users
from nbfn.notebook.cells.in_place import InPlaceError
from nbfn.notebook.cells.paths import Path, as_text
from nbfn.notebook.cells.replicas import number_of_replicas

_STAGED = {"If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase", "ReduceDataset"}
_CHANGING = {
    *("append", "extend", "insert", "remove", "sort", "reverse", "appendleft", "popleft"),
    *("pop", "popitem", "clear", "update", "setdefault", "add", "discard"),
}
_CONTAINERS = (list, dict, set, deque, bytearray)


@dataclass(frozen=True)
class Effect:
    """A statement that changes something in place.

    Attributes:
        what: What it changes, as the user wrote it.
        line: Its line.
        headers: Lines of the branches and loops around it.
        roots: Names through which it may change something; None if it surely does.
        is_assignment: Whether it gives a value to an attribute.
    """

    what: str
    line: int
    headers: frozenset[int]
    roots: frozenset[str] | None = None
    is_assignment: bool = False

    @property
    def last(self) -> str:
        """The last name of what it changes."""
        return self.what.rpartition(".")[2]


def effects_in_branches(body: Iterable[ast.stmt], namespace: Mapping[str, Any]) -> Iterator[Effect]:
    """Finds statements that change something in place inside a branch or a loop."""
    for statement in body:
        yield from _effects(statement, frozenset(), namespace)


def _effects(
    node: ast.AST, headers: frozenset[int], namespace: Mapping[str, Any]
) -> Iterator[Effect]:
    if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
        return
    if isinstance(node, ast.If | ast.While | ast.For):
        headers |= {node.lineno}
    elif headers and isinstance(node, ast.expr | ast.stmt):
        is_assignment = isinstance(node, ast.Attribute)
        for what in _changed_by(node, namespace):
            yield Effect(ast.unparse(what), node.lineno, headers, None, is_assignment)
        if isinstance(node, ast.Call) and isinstance(owner := _first(node.func), ast.Name):
            roots = frozenset(named_by(namespace.get(owner.id), namespace) | {owner.id})
            yield Effect(f"{ast.unparse(node.func)}(…)", node.lineno, headers, roots)
    for child in ast.iter_child_nodes(node):
        yield from _effects(child, headers, namespace)


def _changed_by(node: ast.AST, namespace: Mapping[str, Any]) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _CHANGING and _may_be_container(node.func.value, namespace):
            yield node.func.value
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield node.value
    elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield node
    elif isinstance(node, ast.AugAssign) and isinstance(_root(node.target, namespace), _CONTAINERS):
        yield node.target


def _may_be_container(node: ast.expr, namespace: Mapping[str, Any]) -> bool:
    """Whether an expression may stand for a container, as far as the notebook's names tell."""
    if not isinstance(node, ast.Name):
        return not isinstance(_root(node, namespace), ModuleType)
    return node.id not in namespace or isinstance(namespace[node.id], _CONTAINERS)


def _root(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    first = _first(node)
    return namespace.get(first.id) if isinstance(first, ast.Name) else None


def _first(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def is_decided(value: Any) -> bool:
    """Whether a value is what a branch or a loop of the graph gives, which may not run."""
    operation = getattr(value, "op", None) if is_graph_tensor(value) else None
    while operation is not None and operation.type == "Identity":
        operation = operation.inputs[0].op
    return operation is not None and operation.type in _STAGED


def refuse_staged(effects: Iterable[Effect], changed: Iterable[Path], file: str) -> None:
    """Refuses changes in branches and loops that the graph being traced has made its own.

    Args:
        effects: What may be changed there.
        changed: The ways to what has changed.
        file: The file of the cell's function.

    Raises:
        InPlaceError: Naming what is changed, and the line.
    """
    changed = [path for path in changed if path]
    names = {path[0][1] for path in changed}
    pending = [each for each in effects if each.roots is None or each.roots & names]
    if not (pending or changed):
        return
    staged = set(_staged())
    found = [(each, "") for each in pending if any((file, line) in staged for line in each.headers)]
    last = {str(path[-1][1]) for path in changed}
    for other, line in sorted(staged):
        if other != file:
            place = f" of {cell_name(other) or other}"
            found += [(each, place) for each in _effects_below(other, line) if each.last in last]
    for effect, place in found:
        raise InPlaceError(
            f"`{effect.what}` is changed in a branch or a loop that TensorFlow decides, at "
            f"line {effect.line}{place}; Python changes it whether or not that runs. "
            "Assign to a name there, and change the container after it"
        )


def _staged() -> Iterator[tuple[str, int]]:
    """File and line of each branch and loop that the graph being traced has made its own."""
    for operation in tf.compat.v1.get_default_graph().get_operations():
        if operation.type in _STAGED and not _makes_a_variable(operation):
            own = [frame for frame in operation.traceback or () if is_users(frame.filename)]
            if own:  # a branch that Python decides may call what makes one, such as a variable
                yield own[-1].filename, own[-1].lineno


def _makes_a_variable(operation: tf.Operation) -> bool:
    """Whether a conditional gives a variable its first value, which TensorFlow does by itself."""
    decided_by = operation.inputs[0].op
    while decided_by.type in ("Identity", "LogicalNot"):
        decided_by = decided_by.inputs[0].op
    return bool(decided_by.type == "VarIsInitializedOp")


def _effects_below(file: str, line: int) -> Iterator[Effect]:
    """Containers that a branch or a loop of a function of the user's changes in place."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.For) and node.lineno == line:
            for effect in _effects(node, frozenset(), {}):
                # AutoGraph makes an attribute that is assigned an output of the branch.
                if effect.roots is None and not effect.is_assignment:
                    yield effect


def refuse_two_owners(results: Iterable[str], changes: Mapping[Path, Content]) -> None:
    """Refuses a name that the cell assigns, and a function that it calls by ``global`` as well.

    In a traced cell they are two: what the cell reads and leaves is its own.

    Raises:
        InPlaceError: Naming the name.
    """
    both = sorted(set(results) & set(changes[()].items)) if () in changes else []
    if both:
        raise InPlaceError(
            f"`{both[0]}` is assigned by the cell, and by `global` in a function that it calls; "
            "in a traced cell these are two. Return the value from the function and assign it"
        )


def refuse_on_replicas(changed: Iterable[Path]) -> None:
    """Refuses changes in place by a cell that several replicas run, each for itself.

    Raises:
        InPlaceError: Naming what is changed.
    """
    for path in changed if number_of_replicas() > 1 else ():
        raise InPlaceError(
            f"`{as_text(path) or 'a global name'}` is changed in place by each of "
            f"{number_of_replicas()} replicas. Assign to a name, and change the container in a "
            "cell below"
        )
