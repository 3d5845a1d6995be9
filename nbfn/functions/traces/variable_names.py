"""The user's names for variables and tensors: ``model/hidden/kernel``, not a handle's number."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import closure, is_user_module, plain_function
from nbfn.errors import NbfnError

MAX_DEPTH = 12
MAX_ITEMS = 10_000
MAX_FUNCTIONS = 50
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
        yield from _referred(function, set())
    public = users_names(variables)
    if code is None and not isinstance(function, type):
        yield "", function  # an object that is called, such as a bound module
    if owner is not None:
        yield next((name for name, value in public if value is owner), "self"), owner
    yield from public


def _referred(function: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """What a function's code refers to, and then what functions among that refer to."""
    seen.add(id(function))
    variables = getattr(function, "__globals__", {})
    names = [name for name in function.__code__.co_names if name in variables]
    found = closure(function) | {name: variables[name] for name in names}
    yield from found.items()
    for value in found.values():
        # By type alone: the user's objects may do anything when they are looked at.
        traced = issubclass(type(value), _tensorflow.Function)
        inner = plain_function(value.python_function) if traced else value
        if (
            type(inner) is FunctionType
            and is_user_module(inner.__module__)
            and id(inner) not in seen
            and len(seen) < MAX_FUNCTIONS
        ):
            yield from _referred(inner, seen)


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
    by_handle = {_handle(value): key for key, value in wanted.items()}
    by_handle.pop(None, None)
    for root, value in named:
        if len(names) == len(wanted):
            break
        for name, leaf in _leaves(root, value, seen, 0):
            for part_name, part in _parts(name, leaf):
                # A strategy's variable dresses the one that a trace captures.
                key = id(part) if id(part) in wanted else by_handle.get(_handle(part))
                if key is not None:
                    names.setdefault(key, part_name)
    return names


def _handle(value: Any) -> int | None:
    """The ``id`` of a variable's handle; None if it has none of its own."""
    try:
        return id(value.handle) if isinstance(value, tf.Variable) else None
    except Exception:  # it is on several replicas, or a class of the user's
        return None


def _parts(name: str, leaf: Any) -> Iterator[tuple[str, Any]]:
    """A variable; of one that a strategy has on several replicas, what is on each of them."""
    yield name, leaf
    replicas = getattr(leaf, "values", None) if isinstance(leaf, tf.Variable) else None
    if isinstance(replicas, tuple):
        yield from ((f"{name} (replica {i})" if i else name, v) for i, v in enumerate(replicas))


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
