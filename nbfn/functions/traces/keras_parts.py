"""Finds the weights and layers of a Keras object, each under Keras's own name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from nbfn.code import PLAIN

_OWN = ("_trainable_variables", "_non_trainable_variables")


def is_keras_variable(value: Any) -> bool:
    """Returns whether this is a Keras variable, which holds a tf.Variable as ``value``."""
    return _is_keras(type(value)) and isinstance(getattr(value, "value", None), tf.Variable)


def keras_parts(value: Any) -> list[tuple[str, Any]] | None:
    """Returns the weights, layers and other parts of a Keras object by name; None for other values.

    A name may occur twice, as with two layers of one name. The path of a Keras variable does not
    show where it is: a functional model is not in the paths of its layers, and the state of a
    random generator has a path of its own. So this walks the tree of layers; paths only name
    variables that are not in it.
    """
    cls: Any = type(value)
    if not any(map(_is_keras, cls.__mro__)) or not hasattr(cls, "variables"):
        return None
    try:
        parts = list(_parts_of_layer(value)) if all(hasattr(value, each) for each in _OWN) else []
        # Keras's own property `variables` lists what is in the layers.
        if parts and _is_keras(next(each for each in cls.__mro__ if "variables" in vars(each))):
            return parts
        variables = list(value.variables)
        if not all(map(is_keras_variable, variables)):
            return None
        return parts + [(_path_in(value.name, variable), variable) for variable in variables]
    except Exception:  # a property of a user class may raise anything
        return None


def _parts_of_layer(layer: Any) -> Iterator[tuple[str, Any]]:
    # The private attributes are those of Keras 3.15.
    for kind in _OWN:
        yield from ((variable.name, variable) for variable in getattr(layer, kind))
    for generator in getattr(layer, "_seed_generators", ()):
        yield generator.state.name, generator.state
    layers = getattr(layer, "layers", None)  # a model's; other layers keep them private
    for each in layers if isinstance(layers, list) else getattr(layer, "_layers", ()):
        yield each.name, each
    attributes = [
        (name, each)
        for name, each in vars(layer).items()
        if type(each) not in PLAIN and not name.startswith("_self_")
    ]
    yield from ((name, each) for name, each in attributes if name[:1] != "_")
    # The metrics of `compile`; those that are attributes were named above.
    for metric in getattr(layer, "metrics", ()):
        yield f"metrics/{metric.name}", metric
    # Private attributes of Keras's own classes hold only the parts above and bookkeeping.
    if not _is_keras(type(layer)):
        yield from ((name, each) for name, each in attributes if name[:1] == "_")


def _path_in(owner: str, variable: Any) -> str:
    """Returns the path of a variable, without the name of its owner."""
    path = str(variable.path)
    return path.removeprefix(f"{owner}/") or path


def _is_keras(cls: type) -> bool:
    return cls.__module__.startswith("keras.")
