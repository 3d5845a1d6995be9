"""``nn.Sequential``: modules and callables in sequence."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Self

import tensorflow as tf

from nbfn.modules.containers.container import Container
from nbfn.modules.containers.parts import parts_of
from nbfn.modules.errors import EmptySequentialError, FrozenModuleError, PlacementError
from nbfn.modules.layers.part_names import part_names
from nbfn.modules.lifecycle.fields import init_fields
from nbfn.modules.lifecycle.methods import nowrap


class _Open(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Any] = []


_open = _Open()


class Sequential(Container):
    """Calls its layers in order.

    A layer is an ``nn.Module``, any other ``tf.Module``, a Keras layer, the ``Config`` of a layer,
    or any callable. Each has a name that is unique here: its ``name=``, or one made from its type
    (``dense``, ``dense_1``). Layers are reached by index, name and path.

    Example::

      with nn.Sequential(name="outer") as outer:
        outer += [nn.Dense(8), tf.nn.relu, nn.Dense(3)]
      assert outer[0] is outer["dense"] is outer / "dense"

    Inside the ``with`` block, ``tf.Module``s are constructed in the name scope of the sequence.
    Layers may be added as long as the sequence has no variables. State that a ``tf.Module`` or a
    function holds by itself is no part of ``init`` and ``apply``.

    Attributes:
      layers: the layers; nested lists are flattened, None is left out.

    Implements: Merlin Design Document, sections "Naming" and "Scoping Issues".
    """

    layers: Any = ()

    @nowrap
    def __post_init__(self) -> None:
        self.layers = tuple(parts_of(self.layers))
        part_names(self.layers)
        super().__post_init__()

    @nowrap
    def _check_parts(self) -> None:
        if not self.layers:
            raise EmptySequentialError(
                f"{self!r} has no layers, so there is nothing to call. Add one with "
                "sequential.add(layer) before init."
            )

    @nowrap
    def _parts(self) -> Sequence[Any]:
        return self.layers  # type: ignore[no-any-return]

    @nowrap
    def _names(self) -> Sequence[str]:
        return part_names(init_fields(self)["layers"])

    @nowrap
    def _name_of_part(self, name: str) -> str:
        return self._names()[int(name.removeprefix("layers_"))]

    @nowrap
    def add(self, *layers: Any) -> None:
        """Adds layers at the end.

        Raises:
          FrozenModuleError: the sequence has variables already.
          PartError: something cannot be called.
          NameInUseError: two modules have the same ``name=``.
        """
        if self._internal.scope is not None:
            raise FrozenModuleError(
                f"{self._internal.scope.label(self)} has variables, so no layer can be "
                "added. Add the layers before init, apply or bind; inside a compact method, "
                "collect them in a list first."
            )
        more = (*self.layers, *parts_of(layers, self.layers))
        part_names(more)
        self._internal.template.clear()
        # Around the `__setattr__` of modules, which refuses changes after the construction.
        object.__setattr__(self, "layers", more)

    @nowrap
    def __iadd__(self, layers: Any) -> Self:
        """Adds layers, as ``add``: ``sequence += layer`` or ``sequence += [layer, ...]``."""
        self.add(layers)
        return self

    @nowrap
    def __enter__(self) -> Self:
        """Enters the name scope, for modules that are constructed in a ``with`` block.

        Raises:
          PlacementError: the sequence has no name.
        """
        if self.name is None:
            raise PlacementError(
                f"{type(self).__name__} has no name, so there is no scope to enter. Construct it "
                f'as {type(self).__name__}(name="outer").'
            )
        scope = tf.name_scope(self.name)
        scope.__enter__()
        _open.scopes.append(scope)
        return self

    @nowrap
    def __exit__(self, *error: Any) -> None:
        _open.scopes.pop().__exit__(*error)
