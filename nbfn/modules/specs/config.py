"""The nested ``Config`` of a module class: its construction arguments as an ``nn.Spec``."""

from __future__ import annotations

import dataclasses
import sys
import typing
from typing import Any, ClassVar

from nbfn.modules.specs.spec import Spec, make_spec


class ModuleConfig(Spec):
    """The construction arguments of a module class.

    ``Conv2D(**config)`` and ``config.make()`` make the module.
    """

    __builds__: ClassVar[Any] = None

    def make(self, **identity: Any) -> Any:
        """Returns a module with these arguments.

        Args:
          **identity: ``name`` and ``parent``.
        """
        return self.__builds__(**self, **identity)


class ConfigOf:
    """The attribute ``Config`` of every module class, made on first access."""

    def __get__(self, module: Any, owner: Any = None) -> type[Spec]:
        """Returns the class for ``owner``; each module class has its own."""
        owner = owner or type(module)
        config = vars(owner).get("__config__")
        if config is None:
            config = owner.__config__ = _config_for(owner)
        return config  # type: ignore[no-any-return]


def _config_for(owner: Any) -> type[Spec]:
    fields = {}
    for name in owner.__field_names__:
        field = owner.__dataclass_fields__[name]
        default: Any = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = dataclasses.field(default_factory=field.default_factory)
        fields[name] = (_resolve(field.type, owner), default)
    return make_spec(
        "Config",
        fields,
        base=ModuleConfig,
        __module__=owner.__module__,
        __qualname__=f"{owner.__qualname__}.Config",
        __doc__=f"The construction arguments of ``{owner.__name__}``.",
        __builds__=owner,
    )


def _resolve(annotation: Any, owner: Any) -> Any:
    """Resolves an annotation; returns ``Any`` if its names cannot be found from the class."""
    if not isinstance(annotation, str):
        return annotation
    spaces = [vars(sys.modules[b.__module__]) for b in owner.__mro__ if b.__module__ in sys.modules]
    for space in spaces:
        holder = type("Holder", (), {"__annotations__": {"it": annotation}})
        try:
            return typing.get_type_hints(holder, space, include_extras=True)["it"]
        except (NameError, AttributeError, TypeError, SyntaxError):
            continue
    return Any
