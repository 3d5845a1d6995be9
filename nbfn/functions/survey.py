"""Surveys a function: which globals, closures, attributes and helpers its traces depend on.

What is surveyed is what the code names, itself and through the user's own helpers and objects; code
and objects of libraries are taken as they are.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from nbfn import _tensorflow
from nbfn.functions.marks import ABSENT, Mark, is_content, is_immutable, mark, serial
from nbfn.functions.reads import is_the_users, reads

_CALLED = ("__call__", "call")
_MAX_ROUNDS = 4
_MAX_OBJECTS = 1000

Fetch = Callable[[], Any]


@dataclass(frozen=True)
class Place:
    """Where a value was read: a kind (``global``, ``closure``, ``attribute``), and a name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} `{self.name}`"


@dataclass
class Survey:
    """What a function depends on besides its arguments, at one moment.

    Attributes:
        marks: The mark of each place.
        attributes: Every attribute that the surveyed code names.
    """

    marks: dict[Place, Mark] = field(default_factory=dict)
    attributes: frozenset[str] = frozenset()
    _same: list[tuple[Fetch, Any]] = field(default_factory=list)
    _weak: list[tuple[Fetch, Fetch]] = field(default_factory=list)
    _content: list[tuple[Fetch, Mark]] = field(default_factory=list)

    def holds(self) -> bool:
        """Whether nothing has changed since, by looking as little as possible."""
        for fetch, value in self._same:
            if fetch() is not value:
                return False
        for fetch, reference in self._weak:
            if fetch() is not reference():
                return False
        return all(mark(fetch()) == known for fetch, known in self._content)


def survey(python_function: Callable[..., Any], owner: Any = None) -> Survey:
    """Surveys a function, and the instance that it is a method of."""
    attributes: frozenset[str] = frozenset()
    for _ in range(_MAX_ROUNDS):
        surveyor = _Surveyor(attributes)
        for function in _unwrapped(python_function):
            surveyor.function(function)
        if owner is not None:
            surveyor.attributes_of("self", owner)
        for function in _unwrapped(python_function):
            surveyor.names_of(function)
        if surveyor.named <= attributes:
            break
        attributes |= surveyor.named
    return surveyor.survey


def survey_objects(
    objects: Iterable[tuple[str, Any]], attributes: frozenset[str]
) -> dict[Place, Mark]:
    """The marks of the named attributes of some objects of the user's."""
    surveyor = _Surveyor(attributes)
    for name, value in objects:
        surveyor.attributes_of(name, value)
    return surveyor.survey.marks


def _unwrapped(function: Any) -> Iterator[FunctionType]:
    """A function and those that it wraps, outermost first, as far as they are the user's."""
    seen: set[int] = set()
    while function is not None and id(function) not in seen:
        seen.add(id(function))
        if isinstance(function, functools.partial):
            function = function.func
            continue
        if isinstance(function, _tensorflow.Function):
            function = getattr(function, "python_function", None)
            continue
        inner = getattr(function, "__func__", function)
        if isinstance(inner, FunctionType) and _is_the_users_function(inner):
            yield inner
        function = getattr(function, "__wrapped__", None) or (
            inner if inner is not function else None
        )


def _is_the_users_function(function: FunctionType) -> bool:
    return is_the_users(function.__globals__.get("__name__"))


class _Surveyor:
    def __init__(self, attributes: frozenset[str]) -> None:
        self.survey = Survey(attributes=attributes)
        self.named: frozenset[str] = frozenset()
        self._wanted = sorted(name for name in attributes if not name.startswith("__"))
        self._seen: set[int] = set()

    # Code -------------------------------------------------------------------------------

    def function(self, function: FunctionType) -> None:
        """Takes in the attributes that code names."""
        self.named |= reads(function.__code__).attributes

    def names_of(self, function: FunctionType) -> None:
        """Visits the globals and closures that a function of the user's reads."""
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        self.function(function)
        namespace = function.__globals__
        for name in sorted(reads(function.__code__).globals):
            fetch = functools.partial(namespace.get, name, ABSENT)
            if name in namespace or not hasattr(builtins, name):
                self._visit(Place("global", name), fetch, fetch())
        closure: tuple[CellType, ...] = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, closure, strict=False):
            fetch = functools.partial(_contents, cell)
            self._visit(Place("closure", name), fetch, fetch())

    # Values -----------------------------------------------------------------------------

    def _visit(self, place: Place, fetch: Fetch, value: Any) -> None:
        if isinstance(value, ModuleType):
            if is_the_users(value.__name__):
                self._put(place, fetch, value, Mark(("module", serial(value)), value.__name__))
                self.attributes_of(place.name, value)
        elif value is ABSENT or is_content(value):
            self._put(place, fetch, value, ABSENT if value is ABSENT else mark(value))
        elif callable(value) and self._is_function(place, fetch, value):
            return
        else:
            self._put(place, fetch, value, mark(value))
            self.attributes_of(place.name, value)

    def _put(self, place: Place, fetch: Fetch, value: Any, known: Mark) -> None:
        self.survey.marks[place] = known
        if value is ABSENT or is_immutable(value):
            self.survey._same.append((fetch, value))
            return
        reference = None if is_content(value) else _reference(value)
        if reference is None:
            self.survey._content.append((fetch, known))
        else:
            self.survey._weak.append((fetch, reference))

    def _is_function(self, place: Place, fetch: Fetch, value: Any) -> bool:
        """Visits a function of the user's, bare or dressed; answers whether it is one."""
        functions = list(_unwrapped(value))
        if not functions:
            return False
        parts: list[Any] = []
        for each in functions:
            parts.append((hash(each.__code__), mark(each.__defaults__), mark(each.__kwdefaults__)))
            reference = weakref.ref(each)
            self.survey._same.append((functools.partial(_code, reference), each.__code__))
        if isinstance(value, functools.partial):
            parts += [mark(value.args), mark(value.keywords)]
        known = Mark(("function", *parts), f"function {functions[-1].__name__}")
        self._put(place, fetch, value, known)
        owner = getattr(value, "__self__", None) if isinstance(value, MethodType) else None
        if owner is not None:
            self.attributes_of(place.name.rpartition(".")[0] or "self", owner)
        for each in functions:
            self.names_of(each)
        return True

    def attributes_of(self, name: str, value: Any) -> None:
        """Visits the named attributes of an object, a class or a module of the user's."""
        kind = type(value)
        is_module = isinstance(value, ModuleType)
        classes = value.__mro__ if isinstance(value, type) else () if is_module else kind.__mro__
        users = [cls for cls in classes if is_the_users(cls.__module__)]
        if not (users or is_module) or len(self._seen) > _MAX_OBJECTS or id(value) in self._seen:
            return
        self._seen.add(id(value))
        own = {} if isinstance(value, type) else getattr(value, "__dict__", {})
        for attribute in self._wanted:
            if attribute in own:
                self._attribute(name, value, attribute, own[attribute])
        for attribute in (*self._wanted, *_CALLED):
            for cls in users:
                if attribute in vars(cls) and attribute not in own:
                    self._attribute(cls.__name__, cls, attribute, vars(cls)[attribute])
                    break

    def _attribute(self, name: str, holder: Any, attribute: str, value: Any) -> None:
        place = Place("attribute", f"{name}.{attribute}")
        reference = _reference(holder)
        if reference is None or place in self.survey.marks:
            return
        if isinstance(value, property):
            value = value.fget
        fetch = functools.partial(_member, reference, attribute)
        self._visit(place, fetch, inspect.unwrap(value) if _is_wrapper(value) else value)


def _is_wrapper(value: Any) -> bool:
    return isinstance(value, (staticmethod, classmethod))


def _reference(value: Any) -> Fetch | None:
    try:
        return weakref.ref(value)
    except TypeError:
        return None


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return ABSENT


def _code(reference: Fetch) -> Any:
    return getattr(reference(), "__code__", None)


def _member(reference: Fetch, attribute: str) -> Any:
    value = getattr(reference(), "__dict__", {}).get(attribute, ABSENT)
    if isinstance(value, property):
        return value.fget
    return inspect.unwrap(value) if _is_wrapper(value) else value
