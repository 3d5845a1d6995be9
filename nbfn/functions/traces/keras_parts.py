"""What a Keras object holds: its weights and layers, each under Keras's own name for it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from nbfn.code import PLAIN

_OWN = ("_trainable_variables", "_non_trainable_variables")


def is_keras_variable(value: Any) -> bool:
    """Whether it is a Keras variable, which holds the tf.Variable as ``value``."""
    return _is_keras(type(value)) and isinstance(getattr(value, "value", None), tf.Variable)


def keras_parts(value: Any) -> list[tuple[str, Any]] | None:
    """The weights, layers and other parts of a Keras object by name; None for any other value.

    A name may come twice, as two layers of one name do. The path of a Keras variable does not tell
    where it is: a functional model is not in the paths of its layers, and the state of a random
    generator has a path of its own. So the tree of the layers is gone through, and the paths only
    name what is found nowhere in it.
    """
    cls: Any = type(value)
    if not _derives_from_keras(cls) or not hasattr(cls, "variables"):
        return None
    try:
        parts = list(_parts_of_layer(value)) if all(hasattr(value, each) for each in _OWN) else []
        if parts and _lists_what_is_in_its_layers(cls):
            return parts
        variables = list(value.variables)
        if not all(map(is_keras_variable, variables)):
            return None
        return parts + [(_path_in(value.name, variable), variable) for variable in variables]
    except Exception:  # a property of the user's class may raise anything
        return None


def _parts_of_layer(layer: Any) -> Iterator[tuple[str, Any]]:
    for kind in _OWN:
        yield from ((variable.name, variable) for variable in getattr(layer, kind))
    for generator in getattr(layer, "_seed_generators", ()):
        yield generator.state.name, generator.state
    layers = getattr(layer, "layers", None)  # of a model; else Keras keeps them to itself
    for each in layers if isinstance(layers, list) else getattr(layer, "_layers", ()):
        yield each.name, each
    attributes = [
        (name, each)
        for name, each in vars(layer).items()
        if type(each) not in PLAIN and not name.startswith("_self_")
    ]
    yield from ((name, each) for name, each in attributes if name[:1] != "_")
    # The metrics of `compile`; those that are an attribute of a layer have its name.
    for metric in getattr(layer, "metrics", ()):
        yield f"metrics/{metric.name}", metric
    # Keras's own private attributes lead to what is found above, and to its bookkeeping.
    if not _is_keras(type(layer)):
        yield from ((name, each) for name, each in attributes if name[:1] == "_")


def _path_in(owner: str, variable: Any) -> str:
    """The path of a variable, without the name of its owner."""
    path = str(variable.path)
    return path.removeprefix(f"{owner}/") or path


def _is_keras(cls: type) -> bool:
    return cls.__module__.startswith("keras.")


@functools.lru_cache(4096)
def _derives_from_keras(cls: Any) -> bool:
    return any(map(_is_keras, cls.__mro__))


@functools.lru_cache(4096)
def _lists_what_is_in_its_layers(cls: Any) -> bool:
    """Whether its ``variables`` are those of its layers: they are, unless it has its own."""
    return _is_keras(next(base for base in cls.__mro__ if "variables" in vars(base)))
