"""Filters that select collections, as for ``mutable=``.

A filter is ``True`` (all), ``False`` (none), a name, several names, or ``nn.DenyList(filter)`` (all
others). Each is a finite set of names or the complement of one, which is the only form kept here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from nbfn.modules.errors import FilterError
from nbfn.text import shorten


@dataclass(frozen=True)
class DenyList:
    """Every collection except those that ``deny`` matches.

    Attributes:
      deny: a filter: a bool, a name, names, or another ``DenyList``.
    """

    deny: Any


FilterLike = bool | str | Collection[str] | DenyList


@dataclass(frozen=True)
class Filter:
    """A set of names, or (``complement``) every name outside it."""

    names: frozenset[str]
    complement: bool = False

    @classmethod
    def of(cls, spec: FilterLike | Filter) -> Filter:
        """Returns the normal form of a filter; raises `FilterError` for other values."""
        if isinstance(spec, Filter):
            return spec
        if isinstance(spec, bool):
            return cls(frozenset(), complement=spec)
        if isinstance(spec, str):
            return cls(frozenset([spec]))
        if isinstance(spec, DenyList):
            return ~cls.of(spec.deny)
        listed = isinstance(spec, Collection) and not isinstance(spec, Mapping)
        if listed and all(isinstance(name, str) for name in spec):
            return cls(frozenset(spec))
        raise FilterError(
            f"{shorten(repr(spec))} does not select collections. Use True, False, a name such as "
            "'batch_stats', a list of names, or nn.DenyList(...)."
        )

    def __contains__(self, name: object) -> bool:
        return (name in self.names) != self.complement

    def __invert__(self) -> Filter:
        return Filter(self.names, not self.complement)

    def __and__(self, other: Filter) -> Filter:
        if self.complement and other.complement:
            return Filter(self.names | other.names, complement=True)
        if self.complement:
            return Filter(other.names - self.names)
        if other.complement:
            return Filter(self.names - other.names)
        return Filter(self.names & other.names)

    def __or__(self, other: Filter) -> Filter:
        return ~(~self & ~other)

    def __sub__(self, other: Filter) -> Filter:
        return self & ~other

    def __bool__(self) -> bool:
        """Returns whether the filter can select anything."""
        return self.complement or bool(self.names)


EVERYTHING = Filter(frozenset(), complement=True)
NOTHING = Filter(frozenset())
