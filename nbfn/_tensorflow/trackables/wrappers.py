"""What TensorFlow tracks: the containers that it wraps, and the children of objects."""

from __future__ import annotations

from typing import Any

from nbfn._tensorflow.base import Function, internal

_structures = internal("trackable.data_structures")

WRAPPERS: frozenset[type] = frozenset(
    getattr(_structures, name)
    for name in ("ListWrapper", "_DictWrapper", "_TupleWrapper")
    if hasattr(_structures, name)
)
"""The wrapper classes, as far as known."""


def unwrap(value: Any) -> Any:
    """Returns the original container of a wrapper; any other value unchanged."""
    # A `ListWrapper` is a list around another one; the others are wrapt proxies (TensorFlow 2.21).
    while type(value) in WRAPPERS:
        name = "_storage" if issubclass(type(value), list) else "__wrapped__"
        inner = getattr(value, name, None)
        if inner is None:
            break
        value = inner
    return value


def ignored_attributes(cls: type) -> frozenset[str]:
    """Returns the attributes in which a ``tf.Module`` does not look for variables; maybe none."""
    return getattr(cls, "_TF_MODULE_IGNORED_PROPERTIES", frozenset())


def trackable_children(value: Any) -> dict[str, Any]:
    """Returns the tracked children of an object by name; empty if they cannot be read."""
    read = getattr(value, "_trackable_children", None)
    if read is None or isinstance(value, Function):
        return {}
    try:
        return dict(read())
    except Exception:  # user-defined classes may raise anything, and naming must not fail
        return {}
