"""Finds the variables that code reaches through one value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from nbfn.code import package_of
from nbfn.state.values.fingerprints import is_a, items_of
from nbfn.state.values.introspection import own_attributes

_HOLDERS = {"keras": ("_value",), "nbfn": ("_state", "_rngs")}
"""Private attributes with the variables of a Keras variable and of a bound module, by package."""


def variables_of(value: Any) -> Iterator[tf.Variable]:
    """Yields the variable that a value is, or those that a library's object holds privately.

    What is in containers and in other attributes is reached by the walk itself.
    """
    if is_a(value, tf.Variable):
        yield value
        return
    packages = {package_of(base.__module__) for base in type(value).__mro__} & _HOLDERS.keys()
    own = own_attributes(value) if packages else {}
    for package in packages:
        for name in _HOLDERS[package]:
            yield from _variables_in(own.get(name))


def _variables_in(value: Any) -> Iterator[tf.Variable]:
    if is_a(value, tf.Variable):
        yield value
    for item in items_of(value) or ():
        yield from _variables_in(item)
