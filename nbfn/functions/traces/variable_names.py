"""The user's names for variables and tensors: ``model/hidden/kernel``, not a handle's number."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import closure, plain_function
from nbfn.errors import NbfnError

MAX_DEPTH = 12
MAX_ITEMS = 10_000
_IPYTHONS = frozenset({"In", "Out", "exit", "quit", "get_ipython"})


def roots(python_function: Callable[..., Any], owner: Any = None) -> Iterator[tuple[str, Any]]:
    """What a function can name: what its code refers to, its owner, its module's other globals.

    Args:
        python_function: The function.
        owner: The instance that it is a method of, if it is one.
    """
    function = plain_function(python_function)
    code = getattr(function, "__code__", None)
    variables = dict(getattr(function, "__globals__", {}))
    if code is not None:
        yield from closure(function).items()
        yield from ((name, variables[name]) for name in code.co_names if name in variables)
    public = users_names(variables)
    if code is None and not isinstance(function, type):
        yield "", function  # an object that is called, such as a bound module
    if owner is not None:
        yield next((name for name, value in public if value is owner), "self"), owner
    yield from public


def users_names(namespace: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The public names of a namespace, and what they stand for, in the order of the user's.

    What IPython keeps of a notebook comes last: it names what has no name of the user's.
    """
    public = [(name, value) for name, value in list(namespace.items()) if name[:1] != "_"]
    return sorted(public, key=lambda item: item[0] in _IPYTHONS)


def names_for(wanted: Mapping[int, Any], named: Iterator[tuple[str, Any]]) -> dict[int, str]:
    """Finds names for some variables or tensors.

    Args:
        wanted: The variables or tensors, by ``id``.
        named: Names and values to start from; the first name found wins.

    Returns:
        The name of each one found, by ``id``.
    """
    names: dict[int, str] = {}
    seen: set[int] = set()
    for root, value in named:
        if len(names) == len(wanted):
            break
        for name, leaf in _leaves(root, value, seen, 0):
            if id(leaf) in wanted:
                names.setdefault(id(leaf), name)
    return names


def named_leaves(named: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    """Every variable and tensor that some names lead to, each under the first name found."""
    leaves: dict[str, Any] = {}
    seen: set[int] = set()
    found: set[int] = set()
    for root, value in named:
        for name, leaf in _leaves(root, value, seen, 0):
            if id(leaf) not in found:
                found.add(id(leaf))
                leaves.setdefault(name, leaf)
    return leaves


def resource_owners(named: Iterator[tuple[str, Any]]) -> dict[int, Any]:
    """The objects, such as lookup tables, that own a resource, by ``id`` of its handle."""
    owners: dict[int, Any] = {}
    seen: set[int] = set()
    for root, value in named:
        for _, leaf, owner in _owned_leaves(root, value, seen, 0, whole=True):
            if owner is not leaf:
                owners[id(leaf)] = owner
    return owners


def _leaves(name: str, value: Any, seen: set[int], depth: int) -> Iterator[tuple[str, Any]]:
    for path, leaf, _ in _owned_leaves(name, value, seen, depth):
        yield path, leaf


def _owned_leaves(
    name: str, value: Any, seen: set[int], depth: int, whole: bool = False
) -> Iterator[tuple[str, Any, Any]]:
    """Each variable and tensor below a value: its path, itself, and the object that owns it.

    Args:
        name: The value's name.
        value: The value.
        seen: The ids of the containers that were looked into.
        depth: How deep this is.
        whole: Whether to look for more than the variables in modules and Keras layers.
    """
    if depth > MAX_DEPTH or len(seen) > MAX_ITEMS or id(value) in seen:
        return
    if isinstance(value, (str, bytes, int, float, type(None))) or inspect.ismodule(value):
        return
    if isinstance(value, tf.Tensor | tf.Variable):
        yield name, value, value
        return
    handle = value.resource_handle if hasattr(type(value), "resource_handle") else None
    if isinstance(handle, tf.Tensor):
        yield name, handle, value
        return
    seen.add(id(value))
    for part, child in _children(value, whole):
        path = "/".join(filter(None, (name, part)))
        yield from _owned_leaves(path, child, seen, depth + 1, whole)


def _children(value: Any, whole: bool) -> Iterator[tuple[str, Any]]:
    if isinstance(value, type):
        return
    if isinstance(value, Mapping):
        yield from ((str(key), item) for key, item in list(value.items())[:MAX_ITEMS])
        return
    if isinstance(value, (list, tuple)):
        yield from ((str(i), item) for i, item in enumerate(value[:MAX_ITEMS]))
        return
    if _is_keras_variable(value):
        yield "", value.value
        return
    named = getattr(type(value), "named_variables", None)
    if named is not None and isinstance(value, tf.Module):
        with contextlib.suppress(NbfnError):  # an unbound module has none
            yield from value.named_variables().items()
        if whole:
            yield from _tensorflow.trackable_children(value).items()
        return
    weights = _keras_variables(value)
    if weights is not None:
        yield from weights
        if whole:
            yield from _tensorflow.trackable_children(value).items()
        return
    if isinstance(value, tf.Module):
        yield from _public_first(vars(value))
        return
    if hasattr(type(value), "_trackable_children"):
        yield from _public_first(_tensorflow.trackable_children(value))
    elif type(value).__module__ == "__main__" and type(value).__dictoffset__:
        yield from _public_first(vars(value))


def _public_first(attributes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    items = list(attributes.items())
    yield from sorted(items, key=lambda item: item[0].startswith("_"))


def _is_keras_variable(value: Any) -> bool:
    return type(value).__module__.startswith("keras.") and isinstance(
        getattr(value, "value", None), tf.Variable
    )


def _keras_variables(value: Any) -> list[tuple[str, Any]] | None:
    """Variables of a Keras layer, model or optimizer by their path without its own name."""
    if not any(base.__module__.startswith("keras.") for base in type(value).__mro__):
        return None
    if not hasattr(type(value), "variables"):
        return None
    try:
        variables = list(value.variables)
    except Exception:  # a property of the user's class may raise anything
        return None
    if not all(_is_keras_variable(variable) for variable in variables):
        return None
    return [(_without_first(variable.path), variable.value) for variable in variables]


def _without_first(path: str) -> str:
    return path.split("/", 1)[1] if "/" in path else path
