"""``nn.Composite``: a module whose parts are built from options."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from nbfn.modules.containers.container import Container
from nbfn.modules.containers.parts import parts_of
from nbfn.modules.errors import SpecDefinitionError
from nbfn.modules.layers.part_names import part_names
from nbfn.modules.lifecycle.binding import adopt
from nbfn.modules.lifecycle.fields import init_fields, is_module
from nbfn.modules.lifecycle.methods import nowrap
from nbfn.modules.lifecycle.setup import inspect_hook, prepare
from nbfn.modules.specs.spec import Spec


class Composite(Container):
    """A module whose ``configure`` builds its parts from options.

    Construction is explicit: ``configure`` runs when the module gets its variables, the parts it
    returns get names from their types, and calling the module calls them in order. A subclass
    states its options as a nested ``Config``, whose fields become the construction arguments, or
    as annotated attributes as usual.

    Example::

      class Block(nn.Composite):
        class Config(nn.Spec):
          filters: int
          rate: float = 0.1

        def configure(self, config):
          return [nn.Conv2D(config.filters, 3), tf.nn.relu, nn.Dropout(config.rate)]

      config = Block.Config(filters=8)
      block = Block(**config)  # or Block(filters=8)

    Raises:
      SpecFieldError, SpecError: when it is constructed: the options do not match ``Config``.

    Implements: Merlin Design Document, sections "Scoping Issues" and "The `Spec` class".
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Makes the fields of a nested ``Config`` the fields of the class."""
        own = vars(cls).get("Config")
        if isinstance(own, type) and issubclass(own, Spec):
            annotated = [n for n in inspect.get_annotations(cls) if n not in own.__schema__.names]
            if annotated:
                raise SpecDefinitionError(
                    f"{cls.__name__} has a Config and annotates {annotated[0]!r} outside it. Put "
                    "the field into the Config."
                )
            types: dict[str, Any] = {}
            for field in dataclasses.fields(own):  # type: ignore[arg-type]
                types[field.name] = field.type
                if field.default_factory is not dataclasses.MISSING:
                    setattr(
                        cls, field.name, dataclasses.field(default_factory=field.default_factory)
                    )
                elif field.default is not dataclasses.MISSING:
                    setattr(cls, field.name, field.default)
            cls.__annotations__ = types
            kwargs.setdefault("kw_only", True)
        super().__init_subclass__(**kwargs)

    @nowrap
    def __post_init__(self) -> None:
        self.config  # noqa: B018  (checks the options)
        super().__post_init__()

    @property
    def config(self) -> Spec:
        """The options, as the class's ``Config``."""
        return self.Config(**init_fields(self))

    def configure(self, config: Any) -> Any:
        """Returns the parts: nested lists of modules and callables; None is left out.

        Args:
          config: the options, of the class's ``Config``.
        """
        raise NotImplementedError(f"{type(self).__name__} must define configure(self, config).")

    def setup(self) -> None:
        """Makes the parts."""
        parts = parts_of(self.configure(self.config))
        names = part_names(parts)
        if self._internal.scope is not None:
            parts = [
                adopt(self, part, name) if is_module(part) else part
                for part, name in zip(parts, names, strict=True)
            ]
        foreign = [p for p in parts if isinstance(p, tf.Module) and not is_module(p)]
        if foreign:
            self.foreign = foreign
        object.__setattr__(self, "made", (tuple(parts), tuple(names)))

    @nowrap
    def _layers_and_names(self) -> tuple[Sequence[Any], Sequence[str]]:
        if self._internal.scope is None:
            return inspect_hook(self, "setup")["made"]  # type: ignore[no-any-return]
        prepare(self)
        return self.__dict__["made"]  # type: ignore[no-any-return]

    @nowrap
    def _parts(self) -> Sequence[Any]:
        return self._layers_and_names()[0]

    @nowrap
    def _names(self) -> Sequence[str]:
        return self._layers_and_names()[1]

    @nowrap
    def _name_of_part(self, name: str) -> str:
        index = name.removeprefix("made_0_")
        return self._names()[int(index)] if index != name else name
