"""Checks the definition of ``nn.Spec`` classes and copies mutable defaults."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import inspect
import types
import typing
from typing import Any

from nbfn.modules.errors import SpecDefinitionError

_IMMUTABLE = (str, bytes, int, float, bool, complex, type(None), type, enum.Enum)


def check_definition(cls: type, base: type) -> None:
    """Raises `SpecDefinitionError` for data without annotation and fields named like methods."""
    annotated = inspect.get_annotations(cls)
    if cls is base:
        return
    for name, value in vars(cls).items():
        # As everywhere in Python, capitals are constants and an underscore is private.
        if name in annotated or name.startswith("_") or name.isupper():
            continue
        if not _belongs_to_class(value, cls):
            raise SpecDefinitionError(
                f"{cls.__qualname__}.{name} = {value!r} has no annotation, so it would be no "
                f"field. Write `{name}: {type(value).__name__} = ...`, or `{name}: ClassVar` for "
                "an attribute of the class."
            )
    for name in annotated:
        if not name.startswith("__") and hasattr(base, name) and not is_class_var(annotated[name]):
            raise SpecDefinitionError(
                f"{cls.__qualname__} has a field {name!r}, which is a method of every spec. "
                "Choose another name."
            )


def isolate_defaults(cls: type) -> None:
    """Makes each instance copy the mutable defaults of its class."""
    for name, annotation in inspect.get_annotations(cls).items():
        default = vars(cls).get(name, dataclasses.MISSING)
        if default is dataclasses.MISSING or is_class_var(annotation):
            continue
        if isinstance(default, dataclasses.Field):
            if default.init is False:
                raise SpecDefinitionError(
                    f"{cls.__qualname__}.{name} has init=False, but every field of a "
                    "spec is an argument. Use a property for a value that follows from other "
                    "fields."
                )
            if default.default is dataclasses.MISSING or _is_immutable(default.default):
                continue
            default = default.default
        if not _is_immutable(default):
            own = copy.deepcopy(default)
            field = dataclasses.field(default_factory=functools.partial(copy.deepcopy, own))
            setattr(cls, name, field)


def is_class_var(annotation: Any) -> bool:
    """Returns whether an annotation, possibly a string, is ``ClassVar``."""
    if isinstance(annotation, str):
        return annotation.split("[")[0].rpartition(".")[2] == "ClassVar"
    return annotation is typing.ClassVar or typing.get_origin(annotation) is typing.ClassVar


def signature(cls: type) -> inspect.Signature:
    """Returns the constructor's signature, for completion and ``help``."""
    parameters = []
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        default = field.default
        if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        parameters.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is dataclasses.MISSING else default,
                annotation=field.type,
            )
        )
    return inspect.Signature(parameters)


def _belongs_to_class(value: Any, cls: type) -> bool:
    """Returns whether an attribute is a method, descriptor or nested class rather than data."""
    if isinstance(value, (types.FunctionType, type)):
        # A function that is assigned here is meant as the default of a field.
        return value.__qualname__.startswith(f"{cls.__qualname__}.") and value.__name__ != (
            "<lambda>"
        )
    return hasattr(type(value), "__get__")


def _is_immutable(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(_is_immutable(item) for item in value)
    return isinstance(value, (*_IMMUTABLE, types.FunctionType, types.BuiltinFunctionType))
