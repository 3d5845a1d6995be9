"""How the fields of an ``nn.Spec`` are checked and become JSON: a pydantic model behind it.

The model is made when it is first needed, because annotations may name classes that are defined
later. Its attributes have a prefix, so that a field may be called ``copy`` or ``schema``.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import pydantic
from pydantic_core import PydanticSerializationError, core_schema

from nbfn.modules.errors import SpecError, SpecFieldError, did_you_mean, show_names

_KIND = "$kind"
_PREFIX = "field_"
_SPECIAL_FLOATS = ("NaN", "Infinity", "-Infinity")
_CONFIG = pydantic.ConfigDict(
    strict=True,
    extra="forbid",
    arbitrary_types_allowed=True,
    validate_default=True,
    ser_json_inf_nan="strings",
    protected_namespaces=(),
    defer_build=True,
)


class Schema:
    """The fields of one spec class.

    Attributes:
      names: the fields, those of base classes first.
    """

    def __init__(self, owner: Any) -> None:
        """Notes the fields; resolves no annotation yet."""
        self._owner = owner
        self.names: tuple[str, ...] = tuple(f.name for f in dataclasses.fields(owner))
        self._locals = _enclosing_locals()

    @functools.cached_property
    def hints(self) -> dict[str, Any]:
        """The annotation of each field.

        Raises:
          SpecError: an annotation names something that does not exist.
        """
        found: dict[str, Any] = {}
        for base in reversed(self._owner.__mro__):
            own = vars(base).get("__schema__")
            if isinstance(own, Schema):
                found.update(own._own_hints())
        return found

    def _own_hints(self) -> dict[str, Any]:
        annotations = vars(self._owner).get("__annotations__", {})
        mine = {n: a for n, a in annotations.items() if n in self.names}
        names = {**self._locals, self._owner.__name__: self._owner}
        carrier = type(self._owner.__name__, (), {"__annotations__": mine})
        carrier.__module__ = self._owner.__module__
        try:
            return typing.get_type_hints(carrier, localns=names, include_extras=True)
        except NameError as error:
            raise SpecError(
                f"{self._owner.__qualname__}: an annotation names {error.name!r}, which is not "
                "defined. Define or import it before the spec is used."
            ) from error

    @functools.cached_property
    def _unfinished(self) -> Any:
        fields: dict[str, Any] = {}
        for field in dataclasses.fields(self._owner):
            options: dict[str, Any] = {
                "alias": field.name,
                "description": field.metadata.get("doc"),
            }
            if field.default is not dataclasses.MISSING:
                options["default"] = field.default
            elif field.default_factory is not dataclasses.MISSING:
                options["default_factory"] = field.default_factory
            annotation = _with_special_floats(self.hints[field.name])
            fields[_PREFIX + field.name] = (annotation, pydantic.Field(**options))
        return pydantic.create_model(
            self._owner.__name__,
            __config__=_CONFIG,
            __module__=self._owner.__module__,
            __doc__=self._owner.__doc__ if "__doc__" in vars(self._owner) else None,
            **fields,
        )

    @functools.cached_property
    def model(self) -> Any:
        """The pydantic model."""
        # Unfinished first, so that a spec may have fields of its own class.
        self._unfinished.model_rebuild(force=True)
        return self._unfinished

    def checked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all fields, from what the constructor was given.

        Raises:
          SpecFieldError: a field is unknown or missing.
          SpecError: a value is not what the annotation says.
        """
        try:
            return self._values(self.model.model_validate(dict(fields)))
        except pydantic.ValidationError as error:
            raise self._error(error) from None

    def from_json(self, text: str | bytes) -> dict[str, Any]:
        """The values of all fields, from a JSON object."""
        try:
            return self._values(self.model.model_validate_json(text))
        except pydantic.ValidationError as error:
            raise self._error(error) from None

    def to_json(self, values: Mapping[str, Any], indent: int | None) -> str:
        """The JSON object of the values."""
        try:
            return str(self._filled(values).model_dump_json(by_alias=True, indent=indent))
        except PydanticSerializationError as error:
            raise self._not_json(values) or error from None

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of the object."""
        try:
            return dict(self.model.model_json_schema())
        except pydantic.errors.PydanticInvalidForJsonSchema as error:
            raise SpecError(
                f"{self._owner.__qualname__} has a field that JSON cannot hold: {error}"
            ) from error

    def _filled(self, values: Mapping[str, Any]) -> Any:
        return self.model.model_construct(**values)

    def _values(self, model: Any) -> dict[str, Any]:
        return {name: getattr(model, _PREFIX + name) for name in self.names}

    def _not_json(self, values: Mapping[str, Any]) -> SpecError | None:
        for name in self.names:
            try:
                self._filled(values).model_dump_json(include={_PREFIX + name})
            except PydanticSerializationError:
                return SpecError(
                    f"{self._owner.__qualname__}.{name} is {values[name]!r}, which JSON cannot "
                    "hold. Use a name, a number or a nested nn.Spec that stands for it."
                )
        return None

    def _error(self, error: pydantic.ValidationError) -> SpecError:
        found = error.errors()
        label = self._owner.__qualname__.rpartition("<locals>.")[2]
        told = [self._told(each) for each in found]
        wrong = {str(each["type"]) for each in found}
        kind = SpecFieldError if wrong & {"extra_forbidden", "missing"} else SpecError
        return kind(f"{label}: {' '.join(dict.fromkeys(told))}")

    def _told(self, error: Any) -> str:
        path = [str(part).removeprefix(_PREFIX) for part in error["loc"]]
        where = next((part for part in path if part in self.names), ".".join(path))
        cause = error.get("ctx", {}).get("error")
        if error["type"] == "extra_forbidden":
            return (
                f"unknown field {where!r}; there is {show_names(self.names)}."
                f"{did_you_mean(where, self.names)}"
            )
        if error["type"] == "missing":
            return f"missing field {where!r}, which has no default."
        if isinstance(cause, SpecError):
            return f"field {where!r}: {cause}"
        if error["type"] == "json_invalid":
            return f"the text is no JSON: {error['msg']}."
        expected = _name_of(self.hints[where]) if where in self.hints else error["msg"]
        return (
            f"field {where!r} expected {expected}, found {error['input']!r} "
            f"({type(error['input']).__name__}): {error['msg']}."
        )


def _special_float(value: Any, handler: Any, info: Any) -> Any:
    return handler(float(value) if info.mode == "json" and value in _SPECIAL_FLOATS else value)


def _with_special_floats(annotation: Any) -> Any:
    """The annotation, whose floats may be NaN or infinite in JSON, written as texts."""
    if annotation is float:
        return Annotated[float, pydantic.WrapValidator(_special_float)]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (None, typing.Literal, Annotated, Callable):
        return annotation
    changed = tuple(_with_special_floats(argument) for argument in arguments)
    if all(new is old for new, old in zip(changed, arguments, strict=True)):
        return annotation
    if origin in (typing.Union, types.UnionType):
        return typing.Union[changed]  # noqa: UP007  (the parts are known at run time only)
    return origin[changed]


def core_schema_of(cls: Any, handler: Any) -> Any:
    """How pydantic treats a field annotated with a spec class.

    In Python only an instance will do; JSON holds an object, which names its class if that is
    not the annotated one.
    """
    inner = handler.generate_schema(cls.__schema__._unfinished)
    from_json = core_schema.no_info_wrap_validator_function(
        lambda data, _: _from_object(cls, data), inner
    )
    return core_schema.json_or_python_schema(
        json_schema=from_json,
        python_schema=core_schema.is_instance_schema(cls),
        serialization=core_schema.plain_serializer_function_ser_schema(
            lambda value: _to_object(cls, value)
        ),
    )


def _to_object(cls: Any, value: Any) -> dict[str, Any]:
    kind = {} if type(value) is cls else {_KIND: type(value).__qualname__}
    return {**kind, **json.loads(value.to_json())}


def _from_object(cls: Any, data: Any) -> Any:
    chosen = cls
    if isinstance(data, dict) and _KIND in data:
        data = dict(data)
        name = data.pop(_KIND)
        kinds = {sub.__qualname__: sub for sub in _with_subclasses(cls)}
        if name not in kinds:
            raise SpecError(
                f"{_KIND} is {name!r}, but {cls.__qualname__} and the classes derived from it are "
                f"{show_names(kinds)}.{did_you_mean(str(name), kinds)}"
            )
        chosen = kinds[name]
    return chosen.from_json(json.dumps(data))


def _with_subclasses(cls: type) -> Iterator[type]:
    """The class and those derived from it; of two of one name, the newest comes last."""
    yield cls
    subclasses: list[type] = cls.__subclasses__()
    for sub in subclasses:
        yield from _with_subclasses(sub)


def _name_of(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _enclosing_locals() -> dict[str, Any]:
    """The names of the function, if any, in which the spec class is being defined."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("nbfn.modules.spec", "abc", "typing")
    ):
        frame = frame.f_back
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
