"""Which names of a cell become the arguments of its function."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from IPython.core.error import UsageError

from nbfn.notebook.cells.foresight import Foresight
from nbfn.notebook.cells.kinds import has_dtype, is_nest, is_tensor, is_variable
from nbfn.notebook.cells.names import Names, names_of
from nbfn.notebook.cells.noting import Noting

_MAX_PARTS = 10_000
_MAX_DEPTH = 100
_LIKE_A_TENSORS = {"shape", "dtype", "ndim"}
"""Attributes that an array has in common with a tensor."""


def choose_inputs(
    names: Names,
    body: Sequence[ast.stmt],
    namespace: dict[str, Any],
    asked: Sequence[str] | None = None,
    before: Sequence[str] = (),
    written: Collection[str] = (),
) -> tuple[str, ...]:
    """The names that the function of a cell takes as arguments, in the order of first use.

    They are what the cell reads before it writes them and what is a tensor, an array, a number, a
    string, or a nest of those; and what it reads and then writes or takes away, whatever it is.
    Everything else it takes by reference. What a first run needs not, because with the values that
    the notebook has now the cell surely writes it first, a second run needs not either.

    Args:
        names: The names of the cell.
        body: Its statements.
        namespace: The notebook's names.
        asked: The names that the user wants as arguments; None if nbfn is to choose.
        before: The inputs of the cell's function as it is. They stay, where they can.
        written: What the cell's function as it is has written, whatever it took. Where it does
            not the next time, the name keeps its value without being passed.

    Raises:
        UsageError: If a name that was asked for is not there, or is not read by the cell; or if it
            changes an array of a dtype that TensorFlow lacks.
    """
    if asked is not None:
        return _as_asked(names, namespace, asked)
    arrays = set(_used_as_arrays(body, namespace))
    now = names_of(body, Foresight(namespace, vars(builtins)))
    bound = [
        name
        for name in names.reads
        if name in names.bound and name in namespace and (name in now.reads or name in before)
    ]
    _refuse_dtypes(bound, namespace)
    free = [name for name in names.reads if name in namespace and name not in names.bound]
    stored = _stored_by_calls(names, body, namespace)
    plain = [n for n in free if is_input(namespace[n]) and n not in arrays and n not in stored]
    alone = _unshared(plain, free, namespace)
    inputs = [name for name in names.reads if name in bound or name in alone]
    # On the way on which the cell does not write a tensor, the old one stays. What it may take
    # away is passed, so that its end tells whether it did.
    kept = [
        name
        for name in names.may_write
        if is_tensor_or_array(namespace.get(name))
        and (name in before or not (name in now.writes or name in written))
    ]
    taken = [name for name in names.may_delete if name in namespace]
    return tuple(dict.fromkeys([*inputs, *kept, *taken]))


def _refuse_dtypes(bound: Iterable[str], namespace: Mapping[str, Any]) -> None:
    for name in bound:
        value = namespace[name]
        if isinstance(value, (np.ndarray, np.generic)) and not (
            has_dtype(value) or value.dtype == object
        ):
            raise UsageError(
                f"the cell gives `{name}` another value, which is of dtype {value.dtype}; "
                "TensorFlow has no such dtype. Do it in a cell without %%tf_function"
            )


def _stored_by_calls(names: Names, body: Sequence[ast.stmt], namespace: dict[str, Any]) -> set[str]:
    """Names that functions may assign by ``global`` while the cell runs.

    What the cell reads of them after that is not what the notebook had before.
    """
    nodes = (inner for statement in body for inner in ast.walk(statement))
    own = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    return own | Noting(namespace, names.reads).stored()


def _unshared(wanted: Sequence[str], free: Sequence[str], namespace: dict[str, Any]) -> set[str]:
    """Names whose lists and dicts no other name of the cell leads to.

    An argument is a copy; what something else leads to as well must stay the one that it is.
    """
    alone = set(wanted)
    while True:
        others = [name for name in free if name not in alone]
        reached = set(Noting(namespace, others).paths)
        owners: dict[int, set[str]] = {}
        for name in alone:
            for each in Noting({name: namespace[name]}, [name]).containers():
                owners.setdefault(each, set()).add(name)
        shared = {n for each, own in owners.items() if each in reached or len(own) > 1 for n in own}
        if not shared:
            return alone
        alone -= shared


def _as_asked(names: Names, namespace: Mapping[str, Any], asked: Sequence[str]) -> tuple[str, ...]:
    for name in asked:
        if name not in namespace:
            raise UsageError(f"--inputs: the notebook has no `{name}`")
        if name not in names.reads:
            raise UsageError(f"--inputs: the cell does not read `{name}`")
    needed = [n for n in names.reads if n in names.bound and n in namespace and n not in asked]
    if needed:
        listed = ", ".join(f"`{name}`" for name in needed)
        raise UsageError(f"--inputs: the cell reads and then changes {listed}; add it")
    return tuple(dict.fromkeys(asked))


def builtin_inputs(names: Names, namespace: Mapping[str, Any]) -> tuple[str, ...]:
    """Builtins that a cell reads before it gives their names something else."""
    return tuple(
        name
        for name in names.reads
        if name in names.bound and name not in namespace and hasattr(builtins, name)
    )


def is_input(value: Any, parts: int = _MAX_PARTS, depth: int = _MAX_DEPTH) -> bool:
    """Whether a value becomes an argument: a tensor, array, number, string, or a nest of them.

    A nest that contains itself does not. What the replicas of a ``tf.distribute`` strategy have
    each for itself is one value.
    """
    if is_variable(value):
        return False
    if isinstance(value, (np.ndarray, np.generic)):
        return has_dtype(value)
    if isinstance(value, (bool, int, float, complex, str, bytes)) or is_tensor(value):
        return True
    if isinstance(value, tf.distribute.DistributedValues):
        return True
    if is_nest(value):
        if isinstance(value, dict) and not _can_be_sorted(value):
            return False  # as TensorFlow does
        items = list(value.values()) if isinstance(value, dict) else list(value)
        return bool(depth and 0 < len(items) <= parts) and all(
            item is None or is_input(item, parts - len(items), depth - 1) for item in items
        )
    return False


def _can_be_sorted(keys: Iterable[Any]) -> bool:
    kinds = {type(key) for key in keys}
    return len(kinds) <= 1 and kinds <= {str, bytes, int, float, bool}


def is_tensor_or_array(value: Any) -> bool:
    """Whether a value is a tensor, or an array that can be one."""
    return is_tensor(value) or (isinstance(value, np.ndarray) and has_dtype(value))


def _used_as_arrays(body: Iterable[ast.stmt], namespace: Mapping[str, Any]) -> Iterator[str]:
    """Arrays of which the cell wants what tensors lack: methods, NumPy's functions, assignment.

    They are taken by reference, so that they stay arrays; their content is part of the trace.
    """
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Attribute) and node.attr not in _LIKE_A_TENSORS:
            yield from _array_names(node.value, namespace)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if node.target.id not in _assigned(body):
                yield from _array_names(node.target, namespace)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from _array_names(node.value, namespace)
        elif isinstance(node, ast.Call) and _is_numpys(node.func, namespace):
            for argument in [*node.args, *(each.value for each in node.keywords)]:
                yield from _array_names(argument, namespace)


def _assigned(body: Iterable[ast.stmt]) -> set[str]:
    names = names_of(body)
    return {name for name in names.bound if name not in names.extended}


def _array_names(node: ast.AST, namespace: Mapping[str, Any]) -> Iterator[str]:
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name) and isinstance(namespace.get(node.id), (np.ndarray, np.generic)):
        yield node.id


def _is_numpys(node: ast.expr, namespace: Mapping[str, Any]) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and namespace.get(node.id) is np
