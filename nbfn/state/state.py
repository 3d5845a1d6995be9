"""`State`: the Python state that some code reads, and whether it still holds."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from nbfn.state.bytecode.dynamic_attributes import ANY
from nbfn.state.bytecode.reads import Named
from nbfn.state.columns import Check
from nbfn.state.values.fingerprints import ABSENT, Fingerprint
from nbfn.state.values.introspection import Fetch


class Source(NamedTuple):
    """The place where a value is read.

    Attributes:
        kind: ``global``, ``closure``, ``attribute``, ``module`` (imported by the code), ``code``
            (the function's own), ``argument`` (its content), ``content of`` (what an object of a
            library stores), ``setting`` (of a module, or of Keras), or ``internal`` (private to
            Keras).
        name: The expression for it in user code.
        route: The path by which it was reached, which distinguishes sources of one name.
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
    """The Python state that code depends on besides its arguments, at one moment.

    Attributes:
        fingerprints: The fingerprint of each source.
        attributes: All attributes that the walked code names.
        stored: All names and attributes that it assigns.
        checks: Checks that nothing has changed, the cheapest first.
        references: Weak references to all objects that are held weakly.
        contained: Weak references to the objects in containers.
        opaque: Whether the code may have effects that no source shows: it writes a name, or draws
            from an iterator or random numbers.
        keeps: Whether it keeps user objects alive.
        variables: The serial numbers of the variables that are reached.
    """

    fingerprints: dict[Source, Fingerprint] = field(default_factory=dict)
    attributes: frozenset[Named] = frozenset()
    stored: frozenset[str] = frozenset()
    checks: list[Check] = field(default_factory=list)
    references: list[Fetch] = field(default_factory=list)
    contained: list[Fetch] = field(default_factory=list)
    opaque: bool = False
    keeps: bool = False
    variables: set[int] = field(default_factory=set)

    def holds(self) -> bool:
        """Returns whether nothing has changed since, with as few checks as possible."""
        return all(map(operator.call, self.checks))

    def may_store(self, source: Source) -> bool:
        """Returns whether the walked code itself may assign to a global, closure or attribute."""
        return ANY in self.stored or source.name.rpartition(".")[2] in self.stored


def changes(before: Fingerprints, after: Fingerprints) -> list[Change]:
    """Returns the sources whose fingerprints differ, with the old and the new fingerprint."""
    if before == after:  # fast: compared in C, mostly by identity
        return []
    return [
        (source, (before.get(source, ABSENT), after.get(source, ABSENT)))
        for source in {**before, **after}
        if before.get(source, ABSENT) != after.get(source, ABSENT)
    ]


def changed_roots(before: Fingerprints, after: Fingerprints) -> list[Change]:
    """Returns the changes made by the user, without the consequences of another object.

    These are changes below the object, and sources that only the old or the new one has. An
    attribute that has changed in an object and in its parts, such as ``trainable`` of a model, is
    one change. Settings that appear or disappear are changed by Keras: an optimizer gets its
    momentums in its first step.
    """
    found = _with_hidden(changes(before, after))
    routes = {source.route for source, _ in found}
    # Another object has other sources below it, which appear and disappear with it.
    is_another = any(set(_IDENTITIES) & {old.kind, new.kind} for _, (old, new) in found)
    return [
        (source, pair)
        for source, pair in found
        if source.kind != "internal"
        and (
            (source in before and source in after)
            or ABSENT not in pair  # an attribute that hides one of the class
            or not (is_another or source.kind == "setting")
        )
        and routes.isdisjoint(routes_above(source.route))
    ]


def _with_hidden(found: list[Change]) -> list[Change]:
    """Merges the change of an instance attribute with that of the class attribute it hides."""
    of_classes = {
        source.name.rpartition(".")[2]: (source, old, new)
        for source, (old, new) in found
        if source.route.startswith(OF_CLASS) and ABSENT in (old, new)
    }
    joined: dict[Source, tuple[Fingerprint, Fingerprint]] = dict(found)
    for source, (old, new) in found if of_classes else ():
        hidden, before, after = of_classes.get(source.name.rpartition(".")[2], (source, old, new))
        if hidden != source and ABSENT in (old, new) and (old == ABSENT) != (before == ABSENT):
            joined[source] = (before, new) if old == ABSENT else (old, after)
            joined.pop(hidden, None)
    return list(joined.items())


def routes_above(route: str) -> Iterator[str]:
    """Yields the prefixes of a route, and its last attribute in the objects on the way."""
    attribute = route[route.rfind(".") :] if "." in route else ""
    for step in _STEP.finditer(route):
        before = route[: step.start()]
        yield before
        if before + attribute != route:
            yield before + attribute


OF_CLASS = "class "
"""Prefix of the routes of class attributes."""
_IDENTITIES = ("function", "object")
_STEP = re.compile(r"[.\[(/<]")
