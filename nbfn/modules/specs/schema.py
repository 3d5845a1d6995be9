"""Checks fields of an ``nn.Spec`` and converts them to JSON, with a pydantic model.

The model is made on first use, because annotations may name classes that are defined later. Its
attributes have a prefix, so that a field may be named ``copy`` or ``schema``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import re
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Annotated, Any

import pydantic
from pydantic_core import PydanticSerializationError, core_schema

from nbfn.modules.errors import SpecError, SpecFieldError, did_you_mean, show_names
from nbfn.modules.specs.json_form import form_of, with_json_forms

_KIND = "$kind"
_PREFIX = "field_"
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
        """Records the fields without resolving annotations."""
        self._owner = owner
        self.names: tuple[str, ...] = tuple(f.name for f in dataclasses.fields(owner))
        self._locals = _enclosing_locals(str(self._annotations.values()))

    @property
    def _annotations(self) -> Mapping[str, Any]:
        return vars(self._owner).get("__annotations__", {})  # type: ignore[no-any-return]

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
        mine = {n: a for n, a in self._annotations.items() if n in self.names}
        names = {**self._locals, self._owner.__name__: self._owner}
        # A class with these annotations only: `get_type_hints` would also resolve those of the
        # bases, whose names are of other modules.
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
            options: dict[str, Any] = {"alias": field.name}
            if field.default is not dataclasses.MISSING:
                options["default"] = field.default
            elif field.default_factory is not dataclasses.MISSING:
                options["default_factory"] = field.default_factory
            annotation = with_json_forms(self.hints[field.name])
            fields[_PREFIX + field.name] = (annotation, pydantic.Field(**options))
        return pydantic.create_model(
            self._owner.__name__,
            __config__=_CONFIG,
            __module__=self._owner.__module__,
            **fields,
        )

    @functools.cached_property
    def model(self) -> Any:
        """The pydantic model."""
        # Completed late, so that a spec may have fields of its own class.
        self._unfinished.model_rebuild(force=True)
        return self._unfinished

    def checked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values of all fields, given the constructor's arguments.

        Raises:
          SpecFieldError: a field is unknown or missing.
          SpecError: a value does not match the annotation.
        """
        values = dict(fields)
        try:
            return self._values(self.model.model_validate(values))
        except pydantic.ValidationError as error:
            raise self._error(error, values) from None

    def from_json(self, text: str | bytes) -> dict[str, Any]:
        """Returns the values of all fields, given a JSON object."""
        if not isinstance(text, (str, bytes, bytearray)):
            raise SpecError(f"{self._owner.__qualname__}: expected JSON as text; found {text!r}")
        try:
            return self._values(self.model.model_validate_json(text))
        except pydantic.ValidationError as error:
            raise self._error(error, _parse(text)) from None

    def to_json(self, values: Mapping[str, Any], indent: int | None) -> str:
        """Returns the values as a JSON object."""
        try:
            return self._dump(values, indent=indent)
        except PydanticSerializationError as error:
            raise self._not_json(values) or error from None

    def _dump(self, values: Mapping[str, Any], **options: Any) -> str:
        filled = self.model.model_construct(**values)
        # `model_dump_json` does not accept `fallback` in all supported versions of pydantic.
        serializer = self.model.__pydantic_serializer__
        return str(serializer.to_json(filled, by_alias=True, fallback=form_of, **options), "utf-8")

    def _values(self, model: Any) -> dict[str, Any]:
        return {name: getattr(model, _PREFIX + name) for name in self.names}

    def _not_json(self, values: Mapping[str, Any]) -> SpecError | None:
        for name in self.names:
            try:
                self._dump(values, include={_PREFIX + name})
            except PydanticSerializationError:
                return SpecError(
                    f"{self._owner.__qualname__}.{name} is {values[name]!r}, which JSON cannot "
                    "hold. Use a name or a number, or a nested nn.Spec instead."
                )
        return None

    def _error(self, error: pydantic.ValidationError, values: Any) -> SpecError:
        found = error.errors()
        label = self._owner.__qualname__.rpartition("<locals>.")[2]
        details: dict[str, list[str]] = {}
        for each in found:
            problem, detail = self._describe(each, values)
            details.setdefault(problem, []).append(detail)
        wrong = {str(each["type"]) for each in found}
        kind = SpecFieldError if wrong & {"extra_forbidden", "missing"} else SpecError
        # A value that matches no part of a union is one problem with several details.
        texts = (f"{p}{' or '.join(dict.fromkeys(filter(None, d)))}" for p, d in details.items())
        return kind(f"{label}: {' '.join(f'{text}.' for text in texts)}")

    def _describe(self, error: Any, values: Any) -> tuple[str, str]:
        """Returns the problem, and pydantic's details."""
        if error["type"] == "json_invalid":
            return f"the text is not JSON: {error['msg']}", ""
        path = [str(part).removeprefix(_PREFIX) for part in error["loc"][:1]]
        if not path:
            return f"expected a JSON object, found a {type(error['input']).__name__}", ""
        name = path[0]
        cause = error.get("ctx", {}).get("error")
        if error["type"] == "extra_forbidden":
            hint = did_you_mean(name, self.names).removesuffix("?")
            names = show_names(self.names)
            return f"unknown field {name!r}; there is {names}{'.' + hint if hint else ''}", ""
        if error["type"] == "missing":
            return f"missing field {name!r}, which has no default", ""
        value = values.get(name) if isinstance(values, Mapping) else None
        where = repr(name + _inside(value, error["loc"][1:]))
        if isinstance(cause, SpecError):
            return f"field {where}: {str(cause).removesuffix('.')}", ""
        expected = _name_of(self.hints[name])
        found = f"{error['input']!r} ({type(error['input']).__name__})"
        return f"field {where} expected {expected}, found {found}: ", str(error["msg"])


def _inside(value: Any, location: Sequence[Any]) -> str:
    """Formats the rest of a location, without pydantic's names for the parts of unions."""
    text = ""
    for part in location:
        holds = isinstance(value, Mapping) and part in value
        if holds or (isinstance(part, int) and isinstance(value, (list, tuple))):
            value = value[part] if holds or part < len(value) else None
            text += f"[{json.dumps(part)}]"
    return text


def _parse(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def core_schema_of(cls: Any, handler: Any) -> Any:
    """Defines how pydantic treats a field annotated with a spec class.

    In Python only an instance is valid. JSON has an object, which names its class if it differs
    from the annotated one.
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
    if isinstance(data, cls):  # the default of a field that is missing in the JSON
        return data
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
    """Yields a class and its subclasses; of several with one name, the newest last."""
    yield cls
    subclasses: list[type] = cls.__subclasses__()
    for sub in subclasses:
        yield from _with_subclasses(sub)


def _name_of(annotation: Any) -> str:
    if typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _enclosing_locals(annotations: str) -> dict[str, Any]:
    """Returns what annotations name of the function, if any, that defines the spec class.

    The other local values are not kept alive.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        ("nbfn.modules", "abc", "typing")
    ):
        frame = frame.f_back
    names = set(re.findall(r"\w+", annotations))
    found: dict[str, Any] = {}
    inside: FrameType | None = frame
    while inside is not None and inside.f_locals is not inside.f_globals:
        found = {n: v for n, v in inside.f_locals.items() if n in names} | found
        # A class body, such as that of a module around its `Config`, may be inside of a function.
        inside = None if inside.f_code.co_flags & inspect.CO_OPTIMIZED else inside.f_back
    return found
