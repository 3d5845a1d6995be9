"""Fingerprints of values: equal as long as a trace that read the value would be the same.

A fingerprint holds no user object. Plain values are compared by value, containers by their content,
arrays by a checksum, and other objects by a serial number that is never reused. No method of a user
class is called; methods of Python's own classes are.
"""

from __future__ import annotations

import itertools
import marshal
import reprlib
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from types import MemberDescriptorType, SimpleNamespace
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import is_user_module
from nbfn.serial import serial
from nbfn.state.values.arrays import content_of_array, content_of_buffer
from nbfn.text import with_article

# Beyond these, only the class and the size of a container count.
MAX_PARTS = 2000
MAX_DEPTH = 32
_PLAIN_PER_PART = 5
"""Number of plain items or keys in one container that count as one part, as they cost little."""

# Equal only if they do the same. A float is not among them: 0.0 equals -0.0.
_LITERALS = frozenset({bool, int, str, bytes, type(None), type(...)})
_PLAIN = frozenset({bool, int, float, str, bytes, type(None)})
# Compared by text, because 0.0 equals -0.0 and NaN does not equal itself; made by the base class,
# because a subclass may override the method.
_TEXTS: dict[type, Any] = {
    int: int.__repr__,
    float: float.__repr__,
    complex: complex.__repr__,
    str: str.__str__,
    range: range.__repr__,  # ranges of the same numbers are equal, and may differ in `stop`
    PurePath: PurePath.__str__,
}
_SEQUENCES = (list, tuple, deque)
_SETS = (set, frozenset)
_CONTAINERS: tuple[Any, ...] = (OrderedDict, dict, *_SEQUENCES, *_SETS)
_BUFFERS = (bytearray, array, memoryview)
_CONTENT = (*_CONTAINERS, np.ndarray, *_BUFFERS, *_TEXTS)


Kind = Literal["function", "number", "object", "variable", "tensor"] | None


@dataclass(frozen=True)
class Fingerprint:
    """A fingerprint, with the value as text for messages.

    Attributes:
        content: What is compared.
        text: The value as text.
        kind: The kind of value, if its remedy depends on it: a user ``"function"``; a ``"number"``,
            which is a float, as an integer may be a size, and does not convert to other dtypes in a
            variable; a ``"variable"``, a ``"tensor"`` or another ``"object"``, which are compared
            by identity.
        is_replaced: For a function: returns whether its code was replaced, so that it can only
            return if it is defined again.
    """

    content: Any
    text: str
    kind: Kind = None
    is_replaced: Callable[[], bool] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fingerprint) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)


ABSENT = Fingerprint("absent", "absent")
UNDEFINED = Fingerprint("undefined", "not defined")
"""The fingerprint of a global that is not defined.

`ABSENT`, in contrast, is for what is not read at all.
"""


def fingerprint(value: Any) -> Fingerprint:
    """Returns the fingerprint of a value."""
    return Fingerprint(content_of(value), _text(value), _kind(value))


def _kind(value: Any) -> Kind:
    if type(value) is float:
        return "number"
    if is_content(value) or not type(value).__weakrefoffset__:
        return None
    if is_a(value, tf.Variable):
        return "variable"
    return "tensor" if is_a(value, tf.Tensor) else "object"


def another(new: Fingerprint) -> str:
    """Describes another object of the same class as a known one: ``another Sequential``."""
    return f"another {new.text.removeprefix('an ').removeprefix('a ').removesuffix(' object')}"


def content_of(value: Any) -> Any:
    """Returns what a fingerprint compares; at most `MAX_PARTS` parts of a container count."""
    return _content(value, 0, [MAX_PARTS])


def objects_in(content: Any) -> Iterator[Any]:
    """Yields the objects in a content, each as its own content."""
    if isinstance(content, (tuple, frozenset)):
        # As `_content` returns for an object: the name of its class, and its serial number.
        if len(content) == 2 and isinstance(content, tuple) and isinstance(content[0], str):
            yield content
        else:
            for each in content:
                yield from objects_in(each)


def is_a(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """Like `isinstance`, but without reading ``__class__``, which may run user code."""
    return issubclass(type(value), kinds)


def is_immutable(value: Any) -> bool:
    """Returns whether a value cannot change as long as it is the same object."""
    kind = type(value)
    if kind is tuple:
        # This is asked often: a longer tuple is compared by its content instead.
        return len(value) <= 100 and all(map(is_immutable, value))
    if is_a(value, np.generic):
        return not is_a(value, np.void)  # an item of a structured array may be assigned to
    return kind in _LITERALS or kind in (float, complex, range)


def is_content(value: Any) -> bool:
    """Returns whether a value is compared by its content, not by identity."""
    kind = type(value)
    return is_immutable(value) or kind in _tensorflow.WRAPPERS or issubclass(kind, _CONTENT)


def items_of(value: Any) -> Iterable[Any] | None:
    """Returns the items of a container, and the keys of a dictionary; None for other values."""
    value = _tensorflow.unwrap(value)
    if is_a(value, np.ndarray):
        return np.asarray(value).flat if value.dtype.hasobject else None
    # By the base class's own method: a subclass may override `items` and `__iter__`.
    for base in _CONTAINERS:
        if issubclass(type(value), base):
            if issubclass(base, dict):
                return itertools.chain.from_iterable(base.items(value))
            return base.__iter__(value)  # type: ignore[no-any-return]
    return None


def _content(value: Any, depth: int, left: list[int]) -> Any:
    kind = type(value)
    if kind in _LITERALS:
        return kind, value
    for base, text in _TEXTS.items():
        if issubclass(kind, base):
            return _class_of(kind), text(value)
    if kind in _tensorflow.WRAPPERS:
        return _content(_tensorflow.unwrap(value), depth, left)
    if is_a(value, np.generic):
        return kind, value.tobytes()
    if is_a(value, np.ndarray):
        return "array", value.shape, value.dtype.str, _content_of_array(value, depth, left)
    if is_a(value, _BUFFERS):
        form = value.typecode if is_a(value, array) else None
        return kind, form, content_of_buffer(value)
    left[0] -= 1
    container = next((each for each in _CONTAINERS if issubclass(kind, each)), None)
    if container is not None:
        size = container.__len__(value)
        # The size alone, so that appending to a large container is still noticed.
        if depth >= MAX_DEPTH or left[0] <= 0:
            return _class_of(kind), size, "unwatched"
        return _class_of(kind), size, _content_of_items(container, value, size, depth, left)
    slots = _slots_of(value) if depth < MAX_DEPTH and left[0] > 0 else None
    if slots is not None:
        return _class_of(kind), tuple(_content(v, depth + 1, left) for v in _limited(slots, left))
    if kind is SimpleNamespace:  # attributes that are read are guarded; it has no weak references
        return kind.__qualname__
    # Not `id`, which is used again once the object is freed.
    return kind.__qualname__, serial(value)


def _class_of(kind: type) -> Any:
    """Returns a class; for a user's class its number, so that it is not kept alive."""
    return serial(kind) if is_user_module(kind.__module__) else kind


def _content_of_items(base: Any, value: Any, size: int, depth: int, left: list[int]) -> Any:
    """Returns the content of a container: at once if all items are plain, else item by item."""
    items = items_of(value)
    assert items is not None
    if size:
        first = list(itertools.islice(items, _PLAIN_PER_PART * left[0]))
        if _PLAIN.issuperset(map(type, first)):
            left[0] -= len(first) // _PLAIN_PER_PART
            if base in _SETS:
                # With their types, because 1, 1.0 and True are equal.
                return frozenset(zip(map(type, first), first, strict=True))
            return _bytes(first)
        if base not in _SETS:
            others = [each for each in first if type(each) not in _PLAIN]
            plain = [each if type(each) in _PLAIN else ... for each in first]
            left[0] -= (len(plain) - len(others)) // _PLAIN_PER_PART
            found = tuple(_content(item, depth + 1, left) for item in _limited(others, left))
            return _bytes(plain), found
        items = first
    return frozenset(_content(item, depth + 1, left) for item in _limited(items, left))


def _bytes(plain: Any) -> bytes:
    # Version 2 has no back references, so equal values, and only these, have equal bytes.
    return marshal.dumps(plain, 2)


def _content_of_array(value: np.ndarray[Any, Any], depth: int, left: list[int]) -> Any:
    values = np.asarray(value)
    if values.dtype.hasobject:
        return tuple(_content(each, depth + 1, left) for each in _limited(values.flat, left))
    content = content_of_array(values)
    if is_a(value, np.ma.MaskedArray):
        return content, _content(np.ma.getmask(value), depth + 1, left)
    return content


def _limited(items: Iterable[Any], left: list[int]) -> Iterator[Any]:
    """Yields items as long as parts are left."""
    for item in items:
        if left[0] <= 0:
            return
        left[0] -= 1
        yield item


def _slots_of(value: Any) -> list[Any] | None:
    """Returns the slots of an object without weak references; None for other objects."""
    # In CPython it is 0 if the instances of a class support no weak references.
    if type(value).__weakrefoffset__ or is_a(value, type):
        return None
    found = []
    for cls in type(value).__mro__:
        for name, member in vars(cls).items():
            # Others are of the type, such as `__vectorcalloffset__` of `operator.itemgetter`.
            if isinstance(member, MemberDescriptorType) and not name.startswith("__"):
                try:
                    found.append(member.__get__(value))
                except AttributeError:
                    found.append(None)
    return found or None


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 40
        self.maxlist = self.maxdict = self.maxtuple = self.maxset = 6
        self.maxlevel = 2

    def repr1(self, x: Any, level: int) -> str:
        """Shows a container as the user's, without the class in which TensorFlow tracks it."""
        x = _tensorflow.unwrap(x)
        if is_a(x, tuple) and hasattr(type(x), "_fields"):  # its own `__repr__` shows the items
            x = tuple.__new__(type(x), map(_tensorflow.unwrap, x))
        return super().repr1(x, level)

    def repr_instance(self, x: Any, level: int) -> str:
        """Shows the class of an object, whose own repr may be long or contain an address."""
        if is_content(x):
            return super().repr_instance(x, level)
        return _text(x).removesuffix(" object")


_short = _Short()


def _text(value: Any) -> str:
    try:
        if is_a(value, np.ndarray):
            small = value.size <= 4 and not value.dtype.hasobject
            return str(value.tolist()) if small else f"an array {value.dtype}{list(value.shape)}"
        if is_a(value, _BUFFERS) and len(value) > 100:
            return f"a {type(value).__name__} of {len(value)} items"
        if is_content(value):
            return _short.repr(value)
        name = vars(value).get("__name__") if not is_a(value, type) else value.__name__
        if isinstance(name, str):
            return f"{type(value).__name__} {name}"
    except Exception:  # a user class may raise anything
        return with_article(type(value).__name__)
    kind = {"variable": "tf.Variable", "tensor": "tensor"}.get(_kind(value) or "")
    return with_article(kind or f"{type(value).__name__} object")
