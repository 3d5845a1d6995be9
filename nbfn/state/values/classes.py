"""Fingerprints of user classes: equal if a class is defined again with the same code."""

from __future__ import annotations

from typing import Any

from nbfn.code import is_user_module
from nbfn.serial import ByIdentity, serial
from nbfn.state.values.fingerprints import Fingerprint, content_of, is_content
from nbfn.state.values.introspection import without_descriptor
from nbfn.state.values.unwrapping import fingerprint_of_functions, unwrapped

_ABOUT = frozenset({"__module__", "__doc__", "__annotations__", "__dict__", "__weakref__"})

# By identity: a metaclass may define `__eq__` and `__hash__`.
_known: ByIdentity[Any] = ByIdentity()


def fingerprint_of_class(cls: type) -> Fingerprint:
    """Returns the fingerprint of a class when it was first seen.

    Later changes of a class apply to its instances, too, so they need not be created again.
    """
    return Fingerprint(_content(cls), f"type {cls.__name__}", "object")


def _content(cls: type) -> Any:
    if not is_user_module(cls.__module__):
        return serial(cls)
    found = _known.get(cls)
    if found is not None:
        return found
    attributes = {
        n: _member(without_descriptor(v)) for n, v in sorted(vars(cls).items()) if n not in _ABOUT
    }
    bases = tuple(map(_content, cls.__bases__))
    content = ("class", cls.__module__, cls.__qualname__, bases, tuple(attributes.items()))
    _known[cls] = content
    return content


def _member(value: Any) -> Any:
    functions = list(unwrapped(value))
    if functions:
        return fingerprint_of_functions(functions, value).content
    return content_of(value) if is_content(value) else type(value).__qualname__
