"""Surveys a function: which globals, closures, attributes and helpers its traces depend on.

What is surveyed is what the code names, itself and through the user's own helpers and objects; code
and objects of libraries are taken as they are. No code of the user's runs: attributes are read from
dictionaries and slots, never by look-up.
"""

from __future__ import annotations

import argparse
import builtins
import functools
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from nbfn.functions import special
from nbfn.functions.dressed import mark_of_functions, unwrapped
from nbfn.functions.dynamic import ANY
from nbfn.functions.marks import ABSENT, Mark, content_of, is_content, is_immutable, mark, serial
from nbfn.functions.reading import (
    Fetch,
    bound_by,
    closed_over,
    count_attributes,
    late,
    member,
    own_attributes,
    part_of,
    reference_to,
    undressed,
)
from nbfn.functions.reads import is_the_users, reads

_MAX_ROUNDS = 4
_MAX_OBJECTS = 1000
_MAX_ITEMS = 100
_MAX_NESTING = 3
_MAX_OTHERS = 200
_HOLDERS = (SimpleNamespace, argparse.Namespace)


@dataclass(frozen=True)
class Place:
    """Where a value was read.

    Attributes:
        kind: ``global``, ``closure`` or ``attribute``.
        name: The name that the user's code has for it.
        route: The way on which it was reached, which tells places of one name apart.
    """

    kind: str
    name: str
    route: str = ""

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
    _content: list[tuple[Fetch, Any]] = field(default_factory=list)

    def holds(self) -> bool:
        """Whether nothing has changed since, by looking as little as possible."""
        for fetch, value in self._same:
            if fetch() is not value:
                return False
        for fetch, reference in self._weak:
            if fetch() is not reference():
                return False
        return all(content_of(fetch()) == known for fetch, known in self._content)


def survey(python_function: Callable[..., Any], owner: Any = None) -> Survey:
    """Surveys a function, and the instance that it is a method of."""
    return _rounds(frozenset(), [("self", owner), ("", python_function)]).survey


def survey_objects(
    objects: Iterable[tuple[str, Any]], attributes: frozenset[str]
) -> dict[Place, Mark]:
    """The marks of what some objects of the user's hold, as far as code names it."""
    values = [
        (name, each)
        for name, value in objects
        for each in (value.stands_for() if isinstance(value, StandIn) else [value])
    ]
    return _rounds(attributes, values).survey.marks


class StandIn(ABC):
    """An argument that stands for others, which are guarded in its place."""

    @abstractmethod
    def stands_for(self) -> Iterable[Any]:
        """The others."""


def _rounds(attributes: frozenset[str], values: list[tuple[str, Any]]) -> _Surveyor:
    """Surveys until the code that was found names no attribute that was not looked at."""
    for _ in range(_MAX_ROUNDS):
        surveyor = _Surveyor(attributes)
        for name, value in values:
            surveyor.follow(name, name, value, lambda value=value: value)  # type: ignore[misc]
        if surveyor.named <= attributes:
            break
        attributes |= surveyor.named
    return surveyor


class _Surveyor:
    def __init__(self, attributes: frozenset[str]) -> None:
        self.survey = Survey(attributes=attributes)
        self.named: frozenset[str] = frozenset()
        self._wanted = sorted(name for name in attributes if not name.startswith("__"))
        self._specials = special.ALWAYS | (attributes & special.IF_NAMED)
        self._seen: set[int] = set()
        self._counted: set[int] = set()

    # Code -------------------------------------------------------------------------------

    def _names_of(self, function: FunctionType, route: str) -> None:
        """Visits the globals and closures that a function of the user's reads."""
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        read = reads(function.__code__)
        self.named |= read.attributes
        namespace = function.__globals__
        if any(not _is_library(namespace.get(root)) for root in read.roots):
            self.named |= {ANY}
        module = namespace.get("__name__", "")
        for name in sorted(read.globals):
            fetch = functools.partial(namespace.get, name, ABSENT)
            if name in namespace or not hasattr(builtins, name):
                self._visit(Place("global", name, f"{module}:{name}"), fetch, fetch())
        reference = weakref.ref(function)
        for i, name in enumerate(function.__code__.co_freevars):
            fetch = functools.partial(closed_over, reference, i)
            self._visit(Place("closure", name, f"{route}<{name}>"), fetch, fetch())

    # Values -----------------------------------------------------------------------------

    def _visit(self, place: Place, fetch: Fetch, value: Any) -> None:
        """Marks the value at a place, and follows it."""
        if isinstance(value, ModuleType):
            if is_the_users(value.__name__):
                self._put(place, fetch, value, Mark(("module", serial(value)), value.__name__))
                self._attributes_of(place.name, place.route, value, fetch)
            return
        functions = [] if value is ABSENT or is_content(value) else list(unwrapped(value))
        if value is ABSENT:
            known = ABSENT
        elif functions:
            known = mark_of_functions(functions, value)
        else:
            known = mark(value)
        self._put(place, fetch, value, known)
        self.follow(place.name, place.route, value, fetch)

    def _put(self, place: Place, fetch: Fetch, value: Any, known: Mark) -> None:
        self.survey.marks[place] = known
        if value is ABSENT or is_immutable(value):
            self.survey._same.append((fetch, value))
            return
        reference = None if is_content(value) else reference_to(value)
        if reference is None:
            self.survey._content.append((fetch, content_of(value)))
        else:
            self.survey._weak.append((fetch, reference))

    def follow(self, name: str, route: str, value: Any, fetch: Fetch, nesting: int = 0) -> None:
        """Visits what a value leads to: a function's names, an object's attributes, items."""
        if value is None or value is ABSENT or is_immutable(value):
            return
        if isinstance(value, (dict, list, tuple, deque)):
            self._items_of(name, route, value, nesting)
            self._attributes_of(name, route, value, fetch)
            return
        functions = list(unwrapped(value))
        if not functions:
            self._attributes_of(name, route, value, fetch)
        for each in functions:
            self._probe_code(each)
        if isinstance(value, MethodType):
            owner = name.rpartition(".")[0] or "self"
            self._attributes_of(owner, f"{route}.__self__", value.__self__, late(value.__self__))
        while isinstance(value, functools.partial):
            bound = (*value.args, *value.keywords.values())
            holder = late(value)
            self.survey._content.append(
                (functools.partial(bound_by, holder), content_of(bound_by(holder)))
            )
            for i, item in enumerate(bound):
                self.follow(f"{name}({i})", f"{route}({i})", item, late(item), nesting + 1)
            value = value.func
        for i, each in enumerate(functions):
            self._names_of(each, f"{route}/{i}")
            self._held_by(name, f"{route}/{i}", weakref.ref(each), vars(each), self._wanted)

    def _probe_code(self, function: FunctionType) -> None:
        reference = weakref.ref(function)
        self.survey._same.append(
            (functools.partial(part_of, reference, "__code__"), function.__code__)
        )
        for part in ("__defaults__", "__kwdefaults__"):
            value, fetch = getattr(function, part), functools.partial(part_of, reference, part)
            if value is None or is_immutable(value):
                self.survey._same.append((fetch, value))
            else:
                self.survey._content.append((fetch, content_of(value)))

    def _items_of(self, name: str, route: str, value: Any, nesting: int) -> None:
        if nesting >= _MAX_NESTING or -id(value) in self._seen:  # its attributes are seen apart
            return
        self._seen.add(-id(value))
        pairs = dict.items(value) if isinstance(value, dict) else enumerate(value)
        for (key, item), _ in zip(pairs, range(_MAX_ITEMS), strict=False):
            if not is_immutable(item):
                path = f"[{key!r}]" if isinstance(key, (int, str)) else "[…]"
                self.follow(name + path, route + path, item, late(item), nesting + 1)

    def _attributes_of(self, name: str, route: str, value: Any, fetch: Fetch) -> None:
        """Visits the named attributes of an object, a class or a module of the user's."""
        is_module = isinstance(value, ModuleType)
        classes = () if is_module else (value if isinstance(value, type) else type(value)).__mro__
        users = [cls for cls in classes if is_the_users(cls.__module__)]
        is_holder = is_module or issubclass(type(value), _HOLDERS)
        if not (users or is_holder) or len(self._seen) > _MAX_OBJECTS or id(value) in self._seen:
            return
        self._seen.add(id(value))
        holder = reference_to(value) or fetch
        own = {} if isinstance(value, type) else own_attributes(value)
        self._held_by(name, route, holder, own, [*self._wanted, *self._others(own, classes)])
        # An attribute that appears later, or hides one of the class, makes the number differ.
        self._count(holder)
        for cls in users:
            if id(cls) not in self._counted:
                self._counted.add(id(cls))
                self._count(weakref.ref(cls))
        wanted = self._wanted
        own_name, specials = name.rpartition(".")[2], self._specials
        if isinstance(value, type):
            specials |= special.MAKING
        if special.length_of(own_name) in self.survey.attributes:
            specials |= special.LENGTH
        if special.entry_of(own_name) in self.survey.attributes:
            specials |= special.CONTEXTS
        for cls in users:
            more = sorted(specials & vars(cls).keys())
            more += self._others(vars(cls), classes)
            wanted = [*wanted, *more] if more else wanted
        for attribute in wanted:
            for cls in users:
                if attribute in vars(cls) and attribute not in own:
                    self._class_attribute(cls, attribute)
                    break

    def _held_by(
        self, name: str, route: str, holder: Fetch, own: Mapping[str, Any], wanted: list[str]
    ) -> None:
        """Visits the attributes that an object itself holds, of those that are wanted."""
        for attribute in wanted if own else ():
            if attribute in own:
                found = functools.partial(member, holder, attribute)
                place = Place("attribute", f"{name}.{attribute}", f"{route}.{attribute}")
                self._visit(place, found, own[attribute])

    def _others(self, own: Mapping[str, Any], classes: tuple[type, ...]) -> list[str]:
        """Attributes that no code names, where code may read any; not those of libraries."""
        if ANY not in self.survey.attributes:
            return []
        is_mixed = any(cls.__module__.split(".")[0] in ("tensorflow", "keras") for cls in classes)
        hidden = "_" if is_mixed else "__"
        known = self.survey.attributes
        return [
            name
            for name, value in sorted(own.items())
            if name not in known and not name.startswith(hidden) and is_content(value)
        ][:_MAX_OTHERS]

    def _count(self, holder: Fetch) -> None:
        probe = functools.partial(count_attributes, holder)
        self.survey._same.append((probe, probe()))

    def _class_attribute(self, cls: type, attribute: str) -> None:
        value = vars(cls)[attribute]
        route = f"{cls.__module__}.{cls.__qualname__}.{attribute}"
        place = Place("attribute", f"{cls.__name__}.{attribute}", route)
        if place in self.survey.marks or isinstance(value, MemberDescriptorType):
            return
        fetch = functools.partial(member, weakref.ref(cls), attribute)
        self._visit(place, fetch, undressed(value))


def _is_library(value: Any) -> bool:
    return isinstance(value, ModuleType) and not is_the_users(value.__name__)
