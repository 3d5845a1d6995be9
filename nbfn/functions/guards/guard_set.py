"""Where traced code reads Python state, and whether it is still as it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nbfn.functions.bytecode.reads import Named
from nbfn.functions.guards.fingerprints import Fingerprint, content_of
from nbfn.functions.guards.introspection import Fetch
from nbfn.functions.guards.settings import Look, hold


@dataclass(frozen=True)
class Source:
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


@dataclass
class GuardSet:
    """What a function depends on besides its arguments, at one moment.

    Attributes:
        fingerprints: The fingerprint of each source.
        attributes: Every attribute that the walked code names.
        same: How to fetch what must be the same object, and that object, which is immutable.
        weak: The same of an object that is held weakly.
        content: How to fetch what must have the same content, and that content.
        settings: Objects of Keras, and the settings that they must have.
    """

    fingerprints: dict[Source, Fingerprint] = field(default_factory=dict)
    attributes: frozenset[Named] = frozenset()
    same: list[tuple[Fetch, Any]] = field(default_factory=list)
    weak: list[tuple[Fetch, Fetch]] = field(default_factory=list)
    content: list[tuple[Fetch, Any]] = field(default_factory=list)
    settings: list[Look] = field(default_factory=list)

    def is_valid(self) -> bool:
        """Whether nothing has changed since, by looking as little as possible."""
        for fetch, value in self.same:
            if fetch() is not value:
                return False
        for fetch, reference in self.weak:
            if fetch() is not reference():
                return False
        return hold(self.settings) and all(
            content_of(fetch()) == known for fetch, known in self.content
        )
