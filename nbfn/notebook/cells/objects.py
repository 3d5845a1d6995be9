"""What a Python object is made of, items and attributes, so that it can be compared, filled, made.

None of the user's code runs here: attributes are read and set past what their classes define.
"""

from __future__ import annotations

import dis
import enum
import threading
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CellType, FunctionType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn import _tensorflow
from nbfn.functions.reads import is_the_users
from nbfn.notebook.cells.kinds import is_named_tuple, is_of_keras, is_variable
from nbfn.site import is_library

MAX_ITEMS = 100_000
MAX_BYTES = 200_000_000
CONTAINERS = (list, dict, set, deque, bytearray, array)
"""What can be filled again in place; more of a container than its items are its attributes."""

_BASES: tuple[type, ...] = (
    *(OrderedDict, defaultdict, dict, list, set, frozenset, tuple, deque, bytearray),
    *(SimpleNamespace, object),
)
_PLAIN_MODULES = {"abc", "argparse", "collections", "collections.abc", "dataclasses", "typing"}
"""Modules of Python whose classes hold what they are given, and no more."""


_OF_TRACKING = "_self_"
"""What TensorFlow notes of an object that it tracks, beside the object's own attributes."""

CELL = "cell_contents"
"""The one attribute of the cell in which a function keeps a name of the function around it."""


class Absent:
    """Stands for a name or an attribute that is not there."""


ABSENT = Absent()


def base_of(cls: type) -> type:
    """The builtin class that an instance of a class is laid out as."""
    return next(each for each in cls.__mro__ if each in _BASES or _is_exception(each))


def _is_exception(cls: type) -> bool:
    return cls.__module__ == "builtins" and issubclass(cls, BaseException)


def is_plain(cls: type) -> bool:
    """Whether an instance of a class is no more than its items and attributes.

    So are those of the user's classes, and of a few of Python's. An object of a library may be
    more: a file, a lock, a place in a graph.
    """
    return not isinstance(cls, enum.EnumMeta) and all(
        each in _BASES
        or _is_exception(each)
        or is_the_users(each.__module__)
        or each.__module__ in _PLAIN_MODULES
        for each in cls.__mro__
    )


def is_object(value: Any) -> bool:
    """Whether a value is a container, or an object of a plain class."""
    return is_plain(type(value)) or is_named_tuple(value)


def is_own_module(value: Any) -> bool:
    """Whether a value is a module with the user's code."""
    if not isinstance(value, ModuleType):
        return False
    file = getattr(value, "__file__", None)
    return not is_library(file) if isinstance(file, str) else value.__spec__ is None


def is_changeable(value: Any) -> bool:
    """Whether a value has content of the user's that can be changed in place."""
    if type(value) is list or type(value) is dict:
        return len(value) <= MAX_ITEMS
    if isinstance(value, np.ndarray):
        return value.nbytes <= MAX_BYTES and value.flags.writeable
    if isinstance(value, CONTAINERS):
        return len(value) <= MAX_ITEMS
    if is_variable(value):
        return False
    if isinstance(value, CellType):
        return True
    if isinstance(value, type):
        return is_the_users(value.__module__) and not isinstance(value, enum.EnumMeta)
    if isinstance(value, ModuleType):
        return is_own_module(value)
    if isinstance(value, FunctionType):
        return is_the_users(value.__module__)
    if not has_attributes(value):
        return False
    cls = type(value)
    if isinstance(value, threading.local):
        return True
    if is_the_users(cls.__module__) or is_plain(cls):
        return True
    return isinstance(value, tf.Module) or is_of_keras(value)


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that has the memory that an array looks at."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


# Attributes ----------------------------------------------------------------------------


def has_attributes(value: Any) -> bool:
    """Whether a value has attributes of its own."""
    return _has_dictionary(value) or any(True for _ in _slots(type(value)))


def _has_dictionary(value: Any) -> bool:
    # What threads keep apart has one for each of them.
    return bool(type(value).__dictoffset__) or isinstance(value, threading.local)


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object; of a class, what it defines, without Python's own names."""
    if isinstance(value, type):
        return {name: item for name, item in vars(value).items() if not _is_pythons(name)}
    if isinstance(value, CellType):
        return {} if (held := content_of_cell(value)) is ABSENT else {CELL: held}
    found = dict(vars(value)) if _has_dictionary(value) else {}
    if hasattr(type(value), "_trackable_children"):
        found = {name: item for name, item in found.items() if not name.startswith(_OF_TRACKING)}
    if isinstance(value, BaseException) and value.__cause__ is not None:
        found["__cause__"] = value.__cause__
    for name, slot in _slots(type(value)):
        try:
            found[name] = slot.__get__(value, type(value))
        except AttributeError:  # nothing has been put there yet
            continue
    return found


def content_of_cell(cell: CellType | None) -> Any:
    """What a cell holds; `ABSENT` if the name is not bound."""
    try:
        return ABSENT if cell is None else cell.cell_contents
    except ValueError:
        return ABSENT


def set_attribute(value: Any, name: str, content: Any) -> None:
    """Sets an attribute; takes it away if `content` is `ABSENT`."""
    if isinstance(value, type):
        if content is not ABSENT:
            type.__setattr__(value, name, content)
        elif name in vars(value):
            type.__delattr__(value, name)
    elif isinstance(value, CellType):
        if content is ABSENT:
            del value.cell_contents
        else:
            value.cell_contents = content
    elif hasattr(type(value), "_trackable_children"):  # which must learn of it
        name = set_as(type(value), name)
        if content is not ABSENT:
            setattr(value, name, content)
        elif name in vars(value):
            delattr(value, name)
    else:
        _set_past_its_class(value, name, content)


def set_as(cls: type, name: str) -> str:
    """The name by which an attribute is set: that of a library's property, if it belongs to one.

    A layer's ``trainable``, which it keeps as ``_trainable``, tells its variables too.
    """
    for each in cls.__mro__:
        member = vars(each).get(name[1:]) if name.startswith("_") else None
        if isinstance(member, property) and _can_be_set(member):
            return name if is_the_users(each.__module__) else name[1:]
    return name


def _can_be_set(member: property) -> bool:
    """Whether a property has a setter, and one that does more than raise an error."""
    code = getattr(member.fset, "__code__", None)
    if code is None:
        return member.fset is not None
    return any(each.opname.startswith("RETURN") for each in dis.get_instructions(code))


def _set_past_its_class(value: Any, name: str, content: Any) -> None:
    slot = dict(_slots(type(value))).get(name)
    if name == "__cause__" and isinstance(value, BaseException):
        value.__cause__ = None if content is ABSENT else content
    elif slot is not None:
        if content is not ABSENT:
            slot.__set__(value, content)
        elif name in attributes(value):
            slot.__delete__(value)
    elif content is not ABSENT:
        vars(value)[name] = content
    else:
        vars(value).pop(name, None)


def _slots(cls: type) -> Iterator[tuple[str, MemberDescriptorType]]:
    """The attributes that are not in an object's dictionary, each with what gets and sets it."""
    for each in reversed(cls.__mro__):
        if "__slots__" in vars(each) and each.__module__ not in _PLAIN_MODULES:
            for name, member in vars(each).items():
                if isinstance(member, MemberDescriptorType):
                    yield name, member


def _is_pythons(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


# Items ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Elements:
    """Some elements of an array, by their numbers in it."""

    numbers: np.ndarray
    values: np.ndarray


def items(value: Any) -> Any:
    """A plain copy of what a container or an array holds; None for anything else."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, array):
        return array(value.typecode, value)
    base: Any = next((each for each in CONTAINERS if isinstance(value, each)), None)
    return None if base is None else base(value)


def fill_items(container: Any, content: Any) -> None:
    """Gives a container or an array other items, in place."""
    cls = _class_of(container)
    if isinstance(container, np.ndarray):
        container[...] = content
    elif isinstance(container, list) and cls is not list:
        _fill_tracked(container, content)
    elif isinstance(container, (list, bytearray, array)):
        cls.__setitem__(container, slice(None), content)
    elif isinstance(container, dict):
        for key in [key for key in container if key not in content]:
            cls.__delitem__(container, key)
        if list(container) != list(content)[: len(container)]:
            cls.clear(container)
        for key, item in content.items():
            cls.__setitem__(container, key, item)
    elif isinstance(container, set):
        cls.clear(container)
        cls.update(container, content)
    else:
        cls.clear(container)
        cls.extend(container, content)


def _fill_tracked(container: Any, content: list[Any]) -> None:
    """Fills a list in which TensorFlow compares what is set with what was there, tensors too."""
    _tensorflow.truncate(container, len(content))
    for number, item in enumerate(content[: len(container)]):
        if container[number] is not item:
            container[number] = item
    container.extend(content[len(container) :])


def append_items(container: Any, content: Any, size: int) -> None:
    """Appends items to the first ones, as many as `size`, of a list or a buffer."""
    cls = _class_of(container)
    if isinstance(container, list) and cls is not list:
        _fill_tracked(container, [*container[:size], *content])
        return
    if isinstance(container, array):
        content = array(container.typecode, content)
    cls.__setitem__(container, slice(size, None), content)


def set_items(container: Any, content: Any, removed: Iterable[Any]) -> None:
    """Sets items by key or number, or adds members; and takes others away."""
    cls = _class_of(container)
    if isinstance(content, Elements):
        container.flat[content.numbers] = content.values
    elif isinstance(container, set):
        cls.difference_update(container, removed)
        cls.update(container, content)
    else:
        for key in removed:
            if key in container:
                cls.__delitem__(container, key)
        for key, item in content.items():
            cls.__setitem__(container, key, item)


def _class_of(container: Any) -> Any:
    # What TensorFlow puts around lists and dicts must learn of it; the user's classes must not.
    return base_of(type(container)) if is_plain(type(container)) else type(container)


def needs(value: Any) -> list[Any]:
    """What an object of a plain class cannot be made without, and which cannot be filled in."""
    if isinstance(value, (tuple, frozenset)):
        return list(value)
    return list(value.args) if isinstance(value, BaseException) else []


def maker(value: Any) -> Callable[..., Any]:
    """Makes objects like one of a plain class, of what they need only.

    Returns:
        A function of the class and of the `needs`.
    """
    base: Any = base_of(type(value))
    given: tuple[Any, ...] = ()
    if base is deque:
        given = ((), value.maxlen)
    elif base is defaultdict:
        given = (value.default_factory,)
    as_one = base in (tuple, frozenset)

    def make(cls: type, *needed: Any) -> Any:
        made = base.__new__(cls, needed) if as_one else base.__new__(cls, *needed)
        if given:
            base.__init__(made, *given)
        return made

    return make
