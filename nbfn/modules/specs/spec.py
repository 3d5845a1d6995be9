"""Typed, immutable options: ``nn.Spec``."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self, dataclass_transform

from nbfn.modules.errors import (
    FrozenSpecError,
    SpecError,
    SpecFieldError,
    did_you_mean,
    show_names,
)
from nbfn.modules.specs.definition import check_definition, isolate_defaults, signature
from nbfn.modules.specs.json_form import SPECS
from nbfn.modules.specs.schema import Schema, core_schema_of


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(dataclasses.field,)
)
class Spec(Mapping[str, Any]):
    """Typed options of a module, a trainer or anything else.

    A subclass is a dataclass without being decorated. Its fields are keyword-only, checked against
    their annotations without any conversion, and cannot be changed; defaults are copied for each
    instance. An instance is a ``Mapping`` of its fields, so ``Conv2D(**config)`` works, and
    becomes JSON and back.

    Example::

      class Config(nn.Spec):
        filters: int
        kernel_size: int | tuple[int, int] = 3
        dilations: list[int] = [1, 2]

      config = Config(filters=256)
      assert Config.from_json(config.to_json()) == config

    A class may define ``__post_init__`` to check several fields together.

    Raises:
      SpecFieldError: a field is unknown or missing.
      SpecError: a value does not match its annotation.
      SpecDefinitionError: when a subclass is defined: an attribute has no annotation, or a field
        has the name of a method.

    Implements: Merlin Design Document, section "The `Spec` class".
    """

    __schema__: ClassVar[Schema]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _prepare(cls)

    def __init__(self, /, **fields: Any) -> None:
        self.__dict__.update(type(self).__schema__.checked(fields))
        self.__post_init__()

    def __post_init__(self) -> None:
        """Called when the fields are set; may check them together and raise an error."""

    # -- copies --------------------------------------------------------------------------------

    def replace(self, **changes: Any) -> Self:
        """Returns a new spec with some fields changed.

        Raises:
          SpecFieldError: a field is unknown.
          SpecError: a value does not match its annotation.
        """
        return type(self)(**{**self, **changes})

    @classmethod
    def from_superset(cls, values: Mapping[str, Any]) -> Self:
        """Returns a spec from a mapping that may contain other items, which are ignored.

        Raises:
          SpecError: this is no mapping, or a value does not match its annotation.
        """
        if not isinstance(values, Mapping):
            raise SpecError(f"{cls.__qualname__}: expected a mapping of fields; found {values!r}")
        return cls(**{name: values[name] for name in cls.__schema__.names if name in values})

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields as a new dict, with nested specs as dicts; independent of the spec.

        A set that holds specs becomes a list, because dicts have no hash.
        """
        return {name: _plain(value) for name, value in self.items()}

    # -- JSON ----------------------------------------------------------------------------------

    def to_json(self, indent: int | None = None) -> str:
        """Returns the fields as a JSON object.

        A nested spec of a subclass of the annotated class also has ``"$kind"``, the name of its
        class.

        Args:
          indent: spaces for each level; None for one line.

        Raises:
          SpecError: JSON cannot represent the value of a field, for instance a function.
        """
        return self.__schema__.to_json(self, indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Reads a spec that ``to_json`` wrote.

        Raises:
          SpecFieldError: a field is unknown or missing.
          SpecError: the text is not JSON, or a value does not match its annotation.
        """
        spec = cls.__new__(cls)
        spec.__dict__.update(cls.__schema__.from_json(text))
        spec.__post_init__()
        return spec

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema_of(cls, handler)

    # -- mapping -------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        if name in self.__schema__.names:
            return self.__dict__[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__schema__.names)

    def __len__(self) -> int:
        return len(self.__schema__.names)

    def __bool__(self) -> bool:
        """Returns True, so that ``config or Config()`` keeps an empty spec."""
        return True

    # -- identity ------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Compares class and fields with another spec; items with a plain mapping."""
        if isinstance(other, Spec) and type(self) is not type(other):
            return False
        return dict(self) == dict(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(_hashable(self))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.items())
        return f"{type(self).__qualname__.rpartition('<locals>.')[2]}({shown})"

    def __setattr__(self, name: str, _: Any) -> None:
        """Refuses to change a field.

        Raises:
          FrozenSpecError: always.
          SpecFieldError: the field does not exist.
        """
        raise _frozen(self, name)

    def __delattr__(self, name: str) -> None:
        raise _frozen(self, name)


def _frozen(spec: Spec, name: str) -> FrozenSpecError | SpecFieldError:
    label, names = type(spec).__qualname__, spec.__schema__.names
    if name not in names:
        return SpecFieldError(
            f"{label} has no field {name!r}, only {show_names(names)}.{did_you_mean(name, names)}"
        )
    return FrozenSpecError(
        f"{label}.{name} cannot be changed: a spec is immutable. Use spec.replace({name}=...)."
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.as_dict()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        items = [_plain(item) for item in value]
        try:
            return type(value)(items)
        except TypeError:
            return items
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return copy.deepcopy(value)


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(_hashable(item) for item in value)
    try:
        hash(value)
    except TypeError:
        return type(value)
    return value


def _prepare(cls: type[Spec]) -> None:
    check_definition(cls, Spec)
    isolate_defaults(cls)
    documentation = vars(cls).get("__doc__")
    dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(cls)
    cls.__doc__ = documentation  # instead of the signature that `dataclass` inserts
    cls.__schema__ = Schema(cls)
    SPECS[cls.__module__, cls.__qualname__] = cls
    cls.__signature__ = signature(cls)  # type: ignore[attr-defined]


def make_spec(
    name: str, fields: Mapping[str, tuple[Any, Any]], base: type[Spec] = Spec, **attributes: Any
) -> type[Spec]:
    """Returns a spec class with annotations and defaults (``dataclasses.MISSING`` for none)."""
    defaults = {n: d for n, (_, d) in fields.items() if d is not dataclasses.MISSING}
    annotations = {n: annotation for n, (annotation, _) in fields.items()}
    return type(name, (base,), {**defaults, **attributes, "__annotations__": annotations})


_prepare(Spec)
