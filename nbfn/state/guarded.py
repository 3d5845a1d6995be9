"""`GuardedState`: the part of the Python state read by code that its traces depend on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from nbfn.state.state import Change, Fingerprints, Source, changed_roots, changes
from nbfn.state.values.fingerprints import ABSENT, UNDEFINED, Fingerprint, fingerprint


@dataclass(eq=False)
class GuardedState:
    """A state in which a function was called, without sources that its traces do not depend on.

    Attributes:
        number: Its number in the trace's key; 0 if it is not part of the key.
        fingerprints: The fingerprint of each source.
        exempt: The sources that its traces do not depend on.
        filled: Sources that held nothing when tracing began, and were set by it: not exempt.
    """

    number: int = 0
    fingerprints: dict[Source, Fingerprint] = field(default_factory=dict)
    exempt: frozenset[Source] = frozenset()
    filled: frozenset[Source] = frozenset()

    def changes(self, now: Fingerprints) -> list[Change]:
        """Returns the current differences."""
        return changes(self.fingerprints, self.without_exempt(now))

    def changed_roots(self, now: Fingerprints, partial: bool = False) -> list[Change]:
        """Returns what the user has changed since.

        Args:
            now: The current fingerprints.
            partial: Whether `now` lacks the arguments of a call, and what is reached from them.
        """
        before = self.fingerprints
        if partial:
            before = {s: each for s, each in before.items() if s in now or s.kind in _ROOTS}
        return changed_roots(before, self.without_exempt(now))

    def differences(self, other: GuardedState) -> list[Change]:
        """Returns what the user has changed between two states; nothing if no key has them."""
        if not (self.number or other.number):
            return []
        return changed_roots(
            other.without_exempt(self.fingerprints), self.without_exempt(other.fingerprints)
        )

    def is_replaced(self, now: GuardedState) -> bool:
        """Returns whether code that was read has been replaced by other code."""
        return any(
            fingerprint.is_replaced is not None
            and now.fingerprints.get(source, fingerprint) != fingerprint
            and fingerprint.is_replaced()
            for source, fingerprint in self.fingerprints.items()
        )

    def note_changes(self, changed: Collection[Source], now: Fingerprints) -> None:
        """Accepts what tracing has changed: the traces serve in the state in which it has ended.

        Args:
            changed: The sources that the traced code has changed.
            now: The fingerprints after tracing.
        """
        if changed:
            before = self.fingerprints
            was_empty = (s for s in changed if before.get(s, ABSENT) in _NOTHING)
            self.filled |= {source for source in was_empty if source.kind in _NAMES}
            self.fingerprints = dict(now)
            self.exempt_sources({*self.exempt, *changed} - self.filled)

    def exempt_sources(self, sources: Collection[Source]) -> None:
        """Exempts sources that traces of this state do not depend on."""
        if sources:
            self.exempt = self.exempt.union(sources)
            self.fingerprints = self.without_exempt(self.fingerprints)

    def without_exempt(self, fingerprints: Fingerprints) -> dict[Source, Fingerprint]:
        """Returns the fingerprints of what the traces of this state depend on."""
        return {source: e for source, e in fingerprints.items() if source not in self.exempt}


_NOTHING = (ABSENT, UNDEFINED, fingerprint(None), fingerprint({}))
"""The values before code has created an object. A flag that it sets, such as `self.is_built`, is
exempt: steps that set and clear one in turn would be traced each time."""
_NAMES = frozenset({"attribute", "global", "closure"})
_ROOTS = frozenset({"global", "closure", "code", "module"})
"""Kinds of sources that are reached from the function itself, not from an argument."""
