"""Values described in full, so that what two runs of a notebook left can be compared."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import io
import itertools
import pathlib
import re
import tempfile
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

Leniency = Literal["", "floats", "values"]
"""What is not compared: nothing, floats (of cells that take the time), or any value (of draws)."""

_DEEPEST = 10
_BY_VALUE = (bool, int, float, complex, str, bytes, type(None), np.generic)
_BY_TEXT = (
    *(range, slice, type(...), np.dtype, tf.DType, tf.TensorShape, tf.TypeSpec, enum.Enum),
    *(pathlib.PurePath, datetime.date, datetime.time, datetime.timedelta, re.Pattern),
    *(decimal.Decimal, fractions.Fraction, itertools.count, itertools.repeat),
)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_FRAMEWORKS = {"keras", "tensorflow"}

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")
_CELL = re.compile(r"<ipython-input-\d+-\w+>")
_DEFINED = re.compile(
    r"(?:defined at \(most recent call last\)|was defined here):\n"
    r"(?: *File \"[^\n]*\n+(?: {4,}[^\n]*\n+)*)+"
)
_TEMPORARY = re.compile(re.escape(tempfile.gettempdir()) + r"/tmp\w+")
_UNIT = r"(?:\s?(?:[nmµu]?s|min|h)\b)?(?:/step)?"
_NUMBER = re.compile(rf"([-+]?(?:\d+\.\d*|\.\d+|\d+)(?:e[-+]?\d+)?{_UNIT})", re.IGNORECASE)


@dataclasses.dataclass
class Description:
    """A value as it was at one moment.

    Attributes:
        kind: Its exact class; of tensors and arrays the dtype and the shape too.
        value: What it is, if it has no parts.
        parts: Its items and attributes, in their order.
    """

    kind: str
    value: Any = None
    parts: dict[str, Description] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        shown = "" if self.value is None else " " + " ".join(repr(self.value).split())
        inside = ", ".join(f"{name}: {part}" for name, part in self.parts.items())
        text = self.kind + shown + (f" ({inside})" if inside else "")
        return text if len(text) < 200 else text[:199] + "…"


class Describer:
    """Describes values; an object that was met before is described by where that was.

    So two names for one object, or a list that holds the object of a name, differ from equals.
    """

    def __init__(self) -> None:
        self._met: dict[int, tuple[str, Any]] = {}

    def describe(self, value: Any, path: str, depth: int = 0) -> Description:
        """Describes a value that is found at a path, such as ``history[0].loss``."""
        kind = kind_of(value)
        if isinstance(value, _BY_VALUE):
            return Description(kind, value)
        if isinstance(value, _BY_TEXT):
            return Description(kind, cleaned(repr(value)))
        if isinstance(value, types.ModuleType):
            return Description(kind, value.__name__)
        if id(value) in self._met:
            return Description("the object", self._met[id(value)][0])
        if not isinstance(value, (tuple, frozenset)):
            self._met[id(value)] = (path, value)  # which keeps it, so that its id is not used again
        if isinstance(value, BaseException):
            return Description(kind, cleaned(str(value)))
        is_of_objects = isinstance(value, np.ndarray) and value.dtype == object
        if isinstance(value, (tf.Tensor, np.ndarray)) and not is_of_objects:
            return Description(*_as_array(value, kind))
        if depth == _DEEPEST:
            return Description(kind)
        described = Description(kind)
        parts = list(_parts(value))
        is_special = _parts.dispatch(type(value)) is not _parts.dispatch(object)
        if is_special and type(value).__module__ == "__main__":
            parts += _attributes(value)
        for name, part in parts:
            described.parts[name] = self.describe(part, path + name, depth + 1)
        return described


def kind_of(value: Any) -> str:
    """The exact class of a value, by the package that it comes from."""
    cls = type(value)
    package = _package(cls)
    return cls.__qualname__ if package == "builtins" else f"{package}.{cls.__qualname__}"


def _package(cls: type) -> str:
    return cls.__module__.split(".", maxsplit=1)[0]


def _as_array(value: Any, kind: str) -> tuple[str, Any]:
    dtype = getattr(value.dtype, "name", value.dtype)
    kind = f"{kind} {dtype}{list(value.shape)}"
    if isinstance(value, np.ndarray):
        return kind, value.copy()
    has_values = hasattr(value, "numpy") and value.dtype not in (tf.variant, tf.resource)
    return kind, np.asarray(value.numpy()) if has_values else None


@functools.singledispatch
def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value consists of, as far as a user can tell; objects, of their attributes."""
    yield from _attributes(value)


@_parts.register(tf.Variable)
@_parts.register(keras.Variable)
def _(value: Any) -> Iterator[tuple[str, Any]]:
    yield ".name", getattr(value, "path", value.name)
    yield ".trainable", value.trainable
    yield ".value", np.asarray(value)


@_parts.register
def _(value: tf.RaggedTensor) -> Iterator[tuple[str, Any]]:
    yield ".flat_values", _component(value.flat_values)
    yield ".nested_row_splits", [_component(splits) for splits in value.nested_row_splits]


@_parts.register(tf.SparseTensor)
@_parts.register(tf.IndexedSlices)
def _(value: Any) -> Iterator[tuple[str, Any]]:
    for name in ("values", "indices", "dense_shape"):
        yield f".{name}", _component(getattr(value, name))


def _component(tensor: Any) -> Any:
    """A part of a composite as an array: whether composites share one is nobody's business."""
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor


@_parts.register(tf.data.Dataset)
@_parts.register(tf.data.Iterator)
def _(value: Any) -> Iterator[tuple[str, Any]]:
    yield ".element_spec", repr(value.element_spec)


@_parts.register
def _(value: tf.GradientTape) -> Iterator[tuple[str, Any]]:
    yield " is spent", value._tape is None


@_parts.register
def _(value: tf.TensorArray) -> Iterator[tuple[str, Any]]:
    yield " holds", list(value._implementation._tensor_array)


@_parts.register
def _(value: Mapping) -> Iterator[tuple[str, Any]]:  # type: ignore[type-arg]
    yield from ((f"[{cleaned(repr(key))}]", item) for key, item in list(value.items()))


@_parts.register(set)
@_parts.register(frozenset)
def _(value: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f"[{index}]", item) for index, item in enumerate(sorted(value, key=repr)))


def _in_order(value: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f"[{index}]", item) for index, item in enumerate(list(value)))


for _container in (list, tuple, collections.deque, *_VIEWS):
    _parts.register(_container, _in_order)


@_parts.register
def _(value: np.ndarray) -> Iterator[tuple[str, Any]]:
    yield ".shape", value.shape
    yield from _in_order(value.ravel())


@_parts.register
def _(value: types.GeneratorType) -> Iterator[tuple[str, Any]]:  # type: ignore[type-arg]
    yield " is", inspect.getgeneratorstate(value)


@_parts.register
def _(value: io.StringIO) -> Iterator[tuple[str, Any]]:
    yield " holds", None if value.closed else value.getvalue()


@_parts.register
def _(value: io.IOBase) -> Iterator[tuple[str, Any]]:
    yield ".closed", value.closed


@_parts.register
def _(value: np.random.Generator) -> Iterator[tuple[str, Any]]:
    yield ".state", value.bit_generator.state


@_parts.register
def _(value: type) -> Iterator[tuple[str, Any]]:
    yield " is", f"{value.__module__}.{value.__qualname__}"
    if value.__module__ == "__main__":
        for name, item in list(vars(value).items()):
            if not (name.startswith("__") or callable(item) or hasattr(item, "__get__")):
                yield f".{name}", item


@_parts.register
def _(value: functools.partial) -> Iterator[tuple[str, Any]]:  # type: ignore[type-arg]
    yield from ((f".{name}", getattr(value, name)) for name in ("func", "args", "keywords"))


@_parts.register
def _(value: types.MethodType) -> Iterator[tuple[str, Any]]:
    yield from ((f".{name}", getattr(value, name)) for name in ("__func__", "__self__"))


@_parts.register
def _(value: types.BuiltinFunctionType) -> Iterator[tuple[str, Any]]:
    yield " is", cleaned(repr(value))


@_parts.register(type(functools.lru_cache(int)))
def _(value: Any) -> Iterator[tuple[str, Any]]:
    yield ".cache_info()", tuple(value.cache_info())


@_parts.register
def _(value: types.FunctionType) -> Iterator[tuple[str, Any]]:
    yield " is", value.__qualname__
    if value.__module__ == "__main__":
        yield ".__defaults__", value.__defaults__
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                yield f"'s {name}", cell.cell_contents
            except ValueError:
                yield f"'s {name}", "not bound"
        yield from ((f".{name}", item) for name, item in vars(value).items() if name[0] != "_")


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object; of frameworks' and libraries' objects, the public ones."""
    classes = type(value).__mro__
    own = [cls for cls in classes if cls.__module__ == "__main__"]
    packages = {_package(cls) for cls in classes}
    if "pandas" in packages:
        yield " as text", repr(value)
        return
    named = dict(getattr(value, "__dict__", {}))
    for cls in classes:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                named[name] = getattr(value, name)
    if not own or packages & _FRAMEWORKS:
        functions = [item for cls in own for item in vars(cls).values() if inspect.isfunction(item)]
        users = {name for function in functions for name in function.__code__.co_names}
        named = {name: item for name, item in named.items() if name[0] != "_" or name in users}
    yield from ((f".{name}", item) for name, item in named.items())
    if isinstance(value, keras.Layer):
        yield ".trainable", value.trainable
        yield ".losses", value.losses
        yield "'s layers", list(value._flatten_layers(include_self=False, recursive=False))
    if packages & _FRAMEWORKS and isinstance(getattr(value, "variables", None), (list, tuple)):
        yield ".variables", list(value.variables)
    if isinstance(value, tf.random.Generator):
        yield ".state", value.state


def compared(
    plain: Description, traced: Description, path: str, leniency: Leniency = ""
) -> Iterator[str]:
    """What differs between two descriptions, each as a line for a reader."""
    same_kind = plain.kind == traced.kind
    if not same_kind or not _same_value(plain.value, traced.value, leniency):
        yield f"{path}: {plain} plain, {traced} traced"
    elif list(plain.parts) != list(traced.parts):
        if set(plain.parts) == set(traced.parts):
            yield f"{path}: its parts come in another order traced: {list(traced.parts)}"
        for side, here, there in (("plain", plain, traced), ("traced", traced, plain)):
            for name in here.parts.keys() - there.parts.keys():
                yield f"{path}{name}: {here.parts[name]} {side} only"
    if same_kind:
        for name in plain.parts.keys() & traced.parts.keys():
            yield from compared(plain.parts[name], traced.parts[name], path + name, leniency)


def _same_value(plain: Any, traced: Any, leniency: Leniency) -> bool:
    if plain is None or traced is None or leniency == "values":
        return plain is traced or leniency == "values"
    if isinstance(plain, str):
        return same_text(plain, traced, leniency)
    one, other = np.asarray(plain), np.asarray(traced)
    try:
        rough = np.finfo(one.dtype).eps > 1e-4  # half precision
    except ValueError:
        return plain is traced or bool(np.all(one == other))
    tolerance = {"rtol": 1e-2, "atol": 1e-3} if rough else {"rtol": 1e-5, "atol": 1e-6}
    return leniency == "floats" or bool(np.allclose(one, other, equal_nan=True, **tolerance))


def cleaned(text: str) -> str:
    """A text without what is another in each run: addresses, folders, files of cells, stacks."""
    text = _CELL.sub("a cell", _TEMPORARY.sub("a temporary folder", _ADDRESS.sub("0x…", text)))
    return _DEFINED.sub("defined …", text)


def same_text(plain: str, traced: str, leniency: Leniency = "") -> bool:
    """Whether two texts are the same; numbers with a point in them up to rounding."""
    plain, traced = cleaned(plain), cleaned(traced)
    one, other = _NUMBER.split(plain), _NUMBER.split(traced)
    if plain == traced or len(one) != len(other):
        return plain == traced
    width = re.compile("[ \b]+" if leniency else "(?<= ) +")
    if [width.sub("", word) for word in one[::2]] != [width.sub("", word) for word in other[::2]]:
        return False
    return bool(leniency) or all(map(_same_number, one[1::2], other[1::2]))


def _same_number(plain: str, traced: str) -> bool:
    if plain == traced or "." not in plain or "." not in traced:
        return plain == traced
    try:
        one, other = float(plain), float(traced)
    except ValueError:  # a unit
        return False
    places = len(plain.partition(".")[2])
    last_place = 1.01 * 10.0**-places if places >= 4 else 0.0
    return abs(one - other) <= max(1e-5 * abs(one), last_place)
