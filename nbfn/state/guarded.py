"""`GuardedState`: the part of the Python state read by code that its traces depend on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from nbfn.state.state import Change, Fingerprints, Source, changed_roots, changes
from nbfn.state.values.fingerprints import Fingerprint


@dataclass(eq=False)
class GuardedState:
    """A state in which a function was called, without sources that its traces do not depend on.

    Attributes:
        number: Its number in the trace's key; 0 if it is not part of the key.
        fingerprints: The fingerprint of each source.
        exempt: The sources that its traces do not depend on.
    """

    number: int = 0
    fingerprints: dict[Source, Fingerprint] = field(default_factory=dict)
    exempt: frozenset[Source] = frozenset()

    def changes(self, now: Fingerprints) -> list[Change]:
        """Returns the current differences."""
        return changes(self.fingerprints, self._guarded(now))

    def changed_roots(self, now: Fingerprints, partial: bool = False) -> list[Change]:
        """Returns what the user has changed since.

        Args:
            now: The current fingerprints.
            partial: Whether `now` lacks the arguments of a call, and what is reached from them.
        """
        before = self.fingerprints
        if partial:
            before = {s: each for s, each in before.items() if s in now or s.kind in _ROOTS}
        return changed_roots(before, self._guarded(now))

    def differences(self, other: GuardedState) -> list[Change]:
        """Returns what the user has changed between two states; nothing if no key has them."""
        if not (self.number or other.number):
            return []
        return changed_roots(other._guarded(self.fingerprints), self._guarded(other.fingerprints))

    def is_replaced(self, now: GuardedState) -> bool:
        """Returns whether code that was read has been replaced by other code."""
        return any(
            known.is_replaced is not None
            and now.fingerprints.get(source, known) != known
            and known.is_replaced()
            for source, known in self.fingerprints.items()
        )

    def exempt_sources(self, sources: Iterable[Source]) -> None:
        """Exempts sources that traces of this state do not depend on."""
        exempt = self.exempt.union(sources)
        if exempt != self.exempt:
            self.exempt = exempt
            self.fingerprints = self._guarded(self.fingerprints)

    def _guarded(self, fingerprints: Fingerprints) -> dict[Source, Fingerprint]:
        if not self.exempt:
            return dict(fingerprints)
        return {source: each for source, each in fingerprints.items() if source not in self.exempt}


_ROOTS = frozenset({"global", "closure", "code", "module"})
"""Kinds of sources that are reached from the function itself, not from an argument."""
