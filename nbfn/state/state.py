"""`State`: what some code reads of Python's state, at one moment, and whether it is still so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nbfn.state.bytecode.reads import Named
from nbfn.state.values.fingerprints import ABSENT, Fingerprint, content_of
from nbfn.state.values.introspection import Fetch
from nbfn.state.values.settings import Look, hold


class Source(NamedTuple):
    """Where a value was read.

    Attributes:
        kind: ``global``, ``closure``, ``attribute``, ``module``, one that the code imports, or
            ``code``, the function's own; ``setting``, one of an object of Keras, or of Keras as a
            whole; ``internal``, what Keras keeps for itself.
        name: The name that the user's code has for it.
        route: The way on which it was reached, which tells sources of one name apart.
    """

    kind: str
    name: str
    route: str = ""

    def __str__(self) -> str:
        return f"{self.kind} `{self.name}`"


Fingerprints = Mapping[Source, Fingerprint]
Change = tuple[Source, tuple[Fingerprint, Fingerprint]]
"""A source, and its old and new fingerprint."""


@dataclass
class State:
    """What code depends on besides its arguments, at one moment.

    Attributes:
        fingerprints: The fingerprint of each source.
        attributes: Every attribute that the walked code names.
        same: How to fetch what must be the same object, and that object, which is immutable.
        weak: The same of an object that is held weakly.
        content: How to fetch what must have the same content, and that content.
        contained: Weak references to the objects in containers.
        settings: Objects of Keras, and the settings that they must have.
        opaque: Whether the code may do something each time that no source shows: it writes a name,
            or draws from an iterator or from random numbers.
        keeps: Whether it keeps something of the user's alive.
    """

    fingerprints: dict[Source, Fingerprint] = field(default_factory=dict)
    attributes: frozenset[Named] = frozenset()
    same: list[tuple[Fetch, Any]] = field(default_factory=list)
    weak: list[tuple[Fetch, Fetch]] = field(default_factory=list)
    content: list[tuple[Fetch, Any]] = field(default_factory=list)
    contained: list[Fetch] = field(default_factory=list)
    settings: list[Look] = field(default_factory=list)
    opaque: bool = False
    keeps: bool = False

    def holds(self) -> bool:
        """Returns whether nothing has changed since, by looking as little as possible."""
        for fetch, value in self.same:
            if fetch() is not value:
                return False
        for fetch, reference in self.weak:
            if fetch() is not reference():
                return False
        return hold(self.settings) and all(
            content_of(fetch()) == known for fetch, known in self.content
        )


def changes(before: Fingerprints, after: Fingerprints) -> list[Change]:
    """The sources whose fingerprints differ, with the old and the new fingerprint."""
    if before == after:  # C compares them, and mostly finds the same objects
        return []
    return [
        (source, (before.get(source, ABSENT), after.get(source, ABSENT)))
        for source in {**before, **after}
        if before.get(source, ABSENT) != after.get(source, ABSENT)
    ]


def changed_by_code(before: Fingerprints, after: Fingerprints) -> Iterator[Source]:
    """The sources that code has changed itself, which ran in between.

    An item that it has made is none: a defaultdict makes what is looked up.
    """
    for source, (old, _) in changes(before, after):
        if old != ABSENT or not source.name.endswith("]"):
            yield source


def changed_roots(before: Fingerprints, after: Fingerprints) -> list[Change]:
    """The changes that the user has made: what follows from another object is left out.

    That is what lies below it, and what only the old or the new one has. An attribute that has
    changed in an object and in its parts, as ``trainable`` of a model does, is one change. A
    setting that comes or goes is Keras's doing: an optimizer gets its momentums in its first step.
    """
    found = _with_hidden(changes(before, after))
    routes = {source.route for source, _ in found}
    is_another = any(set(_IDENTITIES) & {old.kind, new.kind} for _, (old, new) in found)
    return [
        (source, pair)
        for source, pair in found
        if source.kind != "internal"
        and ((source in before and source in after) or not (is_another or source.kind == "setting"))
        and routes.isdisjoint(routes_above(source.route))
    ]


def _with_hidden(found: list[Change]) -> list[Change]:
    """Joins an attribute that an object has got or lost with that of its class, as one change."""
    of_classes = {
        source.name.rpartition(".")[2]: (source, old, new)
        for source, (old, new) in found
        if _is_of_class(source) and ABSENT in (old, new)
    }
    joined: dict[Source, tuple[Fingerprint, Fingerprint]] = dict(found)
    for source, (old, new) in found if of_classes else ():
        hidden, before, after = of_classes.get(source.name.rpartition(".")[2], (source, old, new))
        if hidden != source and ABSENT in (old, new) and (old == ABSENT) != (before == ABSENT):
            joined[source] = (before, new) if old == ABSENT else (old, after)
            joined.pop(hidden, None)
    return list(joined.items())


def _is_of_class(source: Source) -> bool:
    return source.route.startswith(OF_CLASS)


def routes_above(route: str) -> Iterator[str]:
    """The routes on the way to one, and those of its attribute in the objects on the way."""
    attribute = route[route.rfind(".") :] if "." in route else ""
    for step in _STEP.finditer(route):
        before = route[: step.start()]
        yield before
        if before + attribute != route:
            yield before + attribute


OF_CLASS = "class "
"""The routes of what a class holds itself begin so."""
_IDENTITIES = ("function", "object")
_STEP = re.compile(r"[.\[(/<]")
