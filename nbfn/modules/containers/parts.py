"""The parts of ``nn.Sequential`` and ``nn.Composite``, and their call options.

A part is an ``nn.Module``, any other ``tf.Module``, a Keras layer, a layer's ``Config``, or any
callable: containers only need to call it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras

from nbfn.modules.errors import PartError, show_names
from nbfn.modules.layers.keras_layer import Keras, KerasModule
from nbfn.modules.layers.keras_template import has_automatic_name
from nbfn.modules.lifecycle.fields import is_module
from nbfn.modules.specs.config import ModuleConfig


def parts_of(value: Any, before: Sequence[Any] = ()) -> list[Any]:
    """Returns the parts in nested lists, in order; None is left out.

    Args:
      value: a part or nested lists of parts.
      before: existing parts of the container. A Keras layer among them stays one module.

    Raises:
      PartError: something cannot be called.
    """
    return _parts_of(value, {id(p.layer): p for p in before if isinstance(p, Keras)})


def _parts_of(value: Any, wrapped: dict[int, Any]) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, ModuleConfig):
        return [value.make()]
    if isinstance(value, keras.Layer):
        name = None if has_automatic_name(value) else value.name
        return [wrapped.setdefault(id(value), Keras(value, name=name, parent=None))]
    if isinstance(value, type):
        raise PartError(
            f"{value.__name__} is a class, not a part. Construct it: {value.__name__}(...)."
        )
    if callable(value):
        return [value]
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [part for item in value for part in _parts_of(item, wrapped)]
    if inspect.isgenerator(value):
        return _parts_of(list(value), wrapped)
    raise PartError(
        f"{value!r} cannot be a part: expected an nn.Module, a tf.Module, a Keras layer, the "
        "Config of a layer, a callable, or a list of these."
    )


def options_of(parts: Sequence[Any], options: Mapping[str, Any], owner: str) -> list[Any]:
    """Returns the keyword arguments for each part: those that it accepts.

    Raises:
      PartError: no part takes one of them.
    """
    if not options:
        return [{}] * len(parts)
    chosen = [{n: v for n, v in options.items() if takes(part, n)} for part in parts]
    unused = set(options).difference(*chosen)
    if unused:
        raise PartError(
            f"{owner} was called with {show_names(unused)}, but none of its parts takes that. "
            "Leave it out, or call the part itself."
        )
    return chosen


def takes(part: Any, option: str) -> bool:
    """Returns whether a part accepts a keyword argument."""
    own = getattr(part, "_takes", None)
    if is_module(part) and own is not None:
        return bool(own(option))
    if isinstance(part, KerasModule):
        # Keras accepts `training` for every layer and ignores it where it has no effect.
        return option == "training" or _has_parameter(_layer_call(part), option)
    return _has_parameter(part, option)


def _layer_call(module: KerasModule) -> Any:
    layer: Any = getattr(type(module), "wraps", None) or module.__dict__.get("layer")
    return getattr(layer, "call", None)


def _has_parameter(function: Callable[..., Any] | None, name: str) -> bool:
    if function is None:
        return False
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    found = parameters.get(name)
    if found is not None:
        return found.kind in (found.KEYWORD_ONLY, found.POSITIONAL_OR_KEYWORD)
    return any(p.kind is p.VAR_KEYWORD for p in parameters.values())
