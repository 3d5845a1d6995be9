"""Names variables and tensors as the user does: ``model/hidden/kernel``, not a handle's number."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import sys
from argparse import Namespace
from collections import ChainMap, UserDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import PLAIN, is_user_module, plain_function
from nbfn.errors import NbfnError
from nbfn.functions.traces.keras_parts import is_keras_variable, keras_parts
from nbfn.site import cells_namespace
from nbfn.state.helpers import named_values, with_helpers
from nbfn.state.values.introspection import own_attributes

MAX_DEPTH = 50
MAX_VALUES = 20_000
"""Maximum number of values searched for names of captures, which delays a trace."""

MAX_VALUES_OF_SESSION = 3_000
"""Maximum number of the session's, which the trace may not use; takes 10 ms."""

_MAPPINGS = (dict, UserDict, MappingProxyType, ChainMap)
_TRACKING = "_self_"
"""Prefix of TensorFlow's attributes on tracked objects."""

_IPYTHONS = frozenset({"In", "Out", "exit", "quit", "get_ipython"})
"""Names that IPython defines in a notebook."""


def notebook_namespace() -> dict[str, Any]:
    """Returns the namespace of the session: that of the running cell, or else a script's.

    In a shell that is embedded in a function, the cell's namespace is not ``__main__``.
    """
    namespace = cells_namespace()
    return sys.modules["__main__"].__dict__ if namespace is None else namespace


def roots(python_function: Callable[..., Any], owner: Any = None) -> Iterator[tuple[str, Any]]:
    """Yields what a function can name: what its code refers to, its owner, its module's globals."""
    function = plain_function(python_function)
    code = getattr(function, "__code__", None)
    variables = dict(getattr(function, "__globals__", {}))
    if code is not None:
        for each in with_helpers(function):
            yield from named_values(each).items()
    public = public_names(variables)
    if code is None and not isinstance(function, type):
        yield "", function  # a callable object, such as a bound module
    if owner is not None:
        yield next((name for name, value in public if value is owner), "self"), owner
    yield from public


def public_names(namespace: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Returns the public names of a namespace with their values; functions come last.

    IPython's names are left out: ``Out`` would list every model that a cell has ever shown.
    """
    public = [
        (name, value)
        for name, value in list(namespace.items())
        if name[:1] != "_" and name not in _IPYTHONS
        if value is not namespace and _is_inspectable(value)
    ]
    return sorted(public, key=lambda item: _is_function(item[1]))


def _is_function(value: Any) -> bool:
    return isinstance(value, _tensorflow.Function | FunctionType)


def _is_inspectable(value: Any) -> bool:
    """Returns whether ``isinstance`` works; it raises for lazy proxies that fail."""
    try:
        return isinstance(value.__class__, type)
    except Exception:
        return False


def names_for(wanted: Mapping[int, Any], named: Iterable[tuple[str, Any]]) -> dict[int, str]:
    """Returns unique names for some variables or tensors, by ``id``.

    Names of the notebook's session take precedence, within a limited search; the rest is named by
    the first of the given names from which it is reached.
    """
    names: dict[int, str] = {}
    session = public_names(notebook_namespace())
    used: set[str] = set()
    for some, limit in ((session, MAX_VALUES_OF_SESSION), (named, MAX_VALUES)):
        left = {key: value for key, value in wanted.items() if key not in names}
        if left:
            found = _find_names(left, list(some), limit)
            names |= {key: unique_name(name, used) for key, name in found.items()}
    return names


def _find_names(
    wanted: Mapping[int, Any], named: Collection[tuple[str, Any]], limit: int
) -> dict[int, str]:
    names: dict[int, str] = {}
    private: dict[int, str] = {}
    by_handle = {_handle_id(value): key for key, value in wanted.items()}
    by_handle.pop(None, None)
    for name, value, owner in walk(named, limit=limit):
        if owner is not value or not is_leaf(value):
            # Such as the default value of a table: it has a name if nothing public has it.
            for attribute, target in own_attributes(owner).items():
                if id(target) in wanted:
                    private.setdefault(id(target), f"{name}/{attribute.lstrip('_')}")
        if not is_leaf(value):
            continue
        for part_name, part in _with_replicas(name, value):
            # A strategy's variable wraps the one that a trace captures.
            key = id(part) if id(part) in wanted else by_handle.get(_handle_id(part))
            if key is not None:
                names.setdefault(key, part_name)
        if len(names) == len(wanted):
            return names
    return private | names


def _handle_id(value: Any) -> int | None:
    """Returns the ``id`` of a variable's handle; None if it has none of its own."""
    try:
        return id(value.handle) if isinstance(value, tf.Variable) else None
    except Exception:  # a variable on several replicas, or a user class
        return None


def _with_replicas(name: str, leaf: Any) -> Iterator[tuple[str, Any]]:
    """Yields a variable, and its components if a strategy has it on several replicas."""
    yield name, leaf
    if isinstance(leaf, tf.distribute.DistributedValues):
        yield from ((f"{name} (replica {i})" if i else name, v) for i, v in enumerate(leaf.values))


def named_leaves(named: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Returns all variables and tensors reached from some names, under their first names."""
    return {name: leaf for name, leaf, _ in named_once(named)}


def named_once(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Yields each variable and tensor once, with a unique name and its owner; see `walk`."""
    found: dict[int, Any] = {}
    used: set[str] = set()
    for name, leaf, owner in walk(named):
        if is_leaf(leaf) and id(leaf) not in found:
            found[id(leaf)] = leaf
            yield unique_name(name, used), leaf, owner


def unique_name(name: str, used: set[str]) -> str:
    """Returns the name, with a number if it is used already; adds it to the used ones."""
    unique, number = name, 0
    while unique in used:
        number += 1
        unique = f"{name}_{number}"
    used.add(unique)
    return unique


def resource_owners(named: Iterable[tuple[str, Any]]) -> dict[int, Any]:
    """Returns the objects that own a resource, such as lookup tables, by ``id`` of its handle."""
    return {
        id(leaf): owner
        for _, leaf, owner in walk(named, whole=True)
        if is_leaf(leaf) and owner is not leaf
    }


def is_leaf(value: Any) -> bool:
    """Returns whether a value is a variable or a tensor."""
    return isinstance(value, tf.Tensor | tf.Variable)


def walk(
    named: Iterable[tuple[str, Any]], *, whole: bool = False, limit: int | None = None
) -> Iterator[tuple[str, Any, Any]]:
    """Yields values that may hold variables, and variables and tensors, depth first.

    Args:
        named: Names and values to start from.
        whole: Whether to also search modules and Keras layers for more than variables.
        limit: Maximum number of values to search; None for all. What the names refer to directly
            is always yielded if it is a variable or tensor.

    Yields:
        The path, the value, and the object that owns it: for the handle of a lookup table, the
        table; for the variable that a Keras variable holds, that.
    """
    # The values are kept alive: the id of a temporary one would be reused.
    seen: dict[int, Any] = {}
    searched = 0
    for root, at_root in named:
        # A stack, not recursion: models may be nested deeper than Python's stack.
        waiting = [(root, at_root, 0)]
        while waiting:
            name, value, depth = waiting.pop()
            searched += 1
            is_over = limit is not None and searched > limit
            if is_over and depth:
                break  # the remaining roots are still visited
            if type(value) in PLAIN or id(value) in seen or not _is_inspectable(value):
                continue
            if inspect.ismodule(value):
                continue
            if is_leaf(value):
                yield name, value, value
                continue
            if is_over:
                break
            seen[id(value)] = value
            if is_keras_variable(value):
                yield name, value.value, value
                continue
            handle = value.resource_handle if hasattr(type(value), "resource_handle") else None
            if isinstance(handle, tf.Tensor):
                yield name, handle, value
                continue
            yield name, value, value
            if depth < MAX_DEPTH:
                below = []
                with contextlib.suppress(Exception):  # user objects may raise anything
                    some = None if limit is None else limit - searched + 1
                    for part, child in itertools.islice(children(value, whole), some):
                        below.append(("/".join(filter(None, (name, part))), child, depth + 1))
                # Reversed, because the last is taken first.
                waiting.extend(reversed(below))


def children(value: Any, whole: bool = False) -> Iterator[tuple[str, Any]]:
    """Yields the values directly below a value, with the part that each adds to the path.

    The parts are unique. See `walk`.
    """
    if isinstance(value, type):
        return
    if isinstance(value, _MAPPINGS) or (
        isinstance(value, Mapping) and is_user_module(type(value).__module__)
    ):
        if not _are_plain(value.values()):
            yield from _distinct((str(key), item) for key, item in list(value.items()))
        return
    if isinstance(value, (list, tuple, deque)):
        if not _are_plain(value):
            yield from ((str(i), item) for i, item in enumerate(value))
        return
    if _names_its_variables(value):
        below = _tensorflow.trackable_children(value) if whole else {}
        with contextlib.suppress(NbfnError):  # an unbound module has none
            below = value.named_variables() | below
        yield from below.items()
        return
    parts = keras_parts(value)
    if parts is not None:
        below = _tensorflow.trackable_children(value) if whole else {}
        yield from _distinct([*parts, *below.items()])
        return
    if isinstance(value, tf.Module):
        yield from _public_first(vars(value))
        return
    if hasattr(type(value), "_trackable_children"):
        yield from _public_first(_tensorflow.trackable_children(value))
    elif isinstance(value, SimpleNamespace | Namespace) or is_user_module(type(value).__module__):
        yield from _public_first(own_attributes(value))
    elif type(value).__module__.startswith("keras.") and type(value).__dictoffset__:
        # No further: a `keras.Input` leads to all layers, under names other than their own.
        variables = {name: each for name, each in vars(value).items() if is_keras_variable(each)}
        yield from _public_first(variables)


def _names_its_variables(value: Any) -> bool:
    """Returns whether a value is a module or loaded model that names its own variables."""
    is_known = isinstance(value, tf.Module) or type(value).__module__.startswith("nbfn.")
    return is_known and hasattr(type(value), "named_variables")


def _distinct(named: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Removes duplicate values, and makes names unique.

    The first value of a name keeps it, whatever names the others get.
    """
    found: dict[int, tuple[str, Any]] = {}
    for name, value in named:
        found.setdefault(id(value), (name, value))
    names = {name for name, _ in found.values()}
    if len(names) == len(found):
        return list(found.values())
    first: set[str] = set()
    distinct = []
    for name, value in found.values():
        distinct.append((unique_name(name, names) if name in first else name, value))
        first.add(name)
    return distinct


def _are_plain(values: Iterable[Any]) -> bool:
    """Returns whether a container, however large, has only plain values such as numbers."""
    return all(map(PLAIN.__contains__, map(type, values)))


def _public_first(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    items = [each for each in attributes.items() if not each[0].startswith(_TRACKING)]
    yield from sorted(items, key=lambda item: item[0].startswith("_"))
