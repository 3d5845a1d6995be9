"""`GuardedState`: the part of the Python state read by code that its traces depend on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
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
        filled: What tracing has stored where nothing was, such as an object that the code creates
            once: it is the same state before and after, until the user stores something else.
    """

    number: int = 0
    fingerprints: dict[Source, Fingerprint] = field(default_factory=dict)
    exempt: frozenset[Source] = frozenset()
    filled: dict[Source, Fingerprint] = field(default_factory=dict)

    def changes(self, now: Fingerprints) -> list[Change]:
        """Returns the current differences."""
        return changes(self.fingerprints, self.as_before(now))

    def changed_roots(self, now: Fingerprints, partial: bool = False) -> list[Change]:
        """Returns what the user has changed since.

        Args:
            now: The current fingerprints.
            partial: Whether `now` lacks the arguments of a call, and what is reached from them.
        """
        before = self.fingerprints
        if partial:
            before = {s: each for s, each in before.items() if s in now or s.kind in _ROOTS}
        return changed_roots(before, self.as_before(now))

    def differences(self, other: GuardedState) -> list[Change]:
        """Returns what the user has changed between two states; nothing if no key has them."""
        if not (self.number or other.number):
            return []
        return changed_roots(other.as_before(self.fingerprints), self.as_before(other.fingerprints))

    def is_replaced(self, now: GuardedState) -> bool:
        """Returns whether code that was read has been replaced by other code."""
        return any(
            known.is_replaced is not None
            and now.fingerprints.get(source, known) != known
            and known.is_replaced()
            for source, known in self.fingerprints.items()
        )

    def note_changes(self, changed: Collection[Source], now: Fingerprints) -> None:
        """Accepts what tracing has changed: what it has filled in, and all else by an exemption."""
        before = self.fingerprints
        filled = {s: now[s] for s in changed if _is_filled(s, before.get(s, ABSENT))}
        self.exempt_sources(source for source in changed if source not in filled)
        self.filled = self.filled | filled

    def exempt_sources(self, sources: Iterable[Source]) -> None:
        """Exempts sources that traces of this state do not depend on."""
        exempt = self.exempt.union(sources)
        if exempt != self.exempt:
            self.exempt = exempt
            self.fingerprints = {s: e for s, e in self.fingerprints.items() if s not in exempt}

    def as_before(self, fingerprints: Fingerprints) -> dict[Source, Fingerprint]:
        """Returns fingerprints without the exempt ones, and as if nothing had been filled in."""
        found = {source: e for source, e in fingerprints.items() if source not in self.exempt}
        for source, filled in self.filled.items():
            if found.get(source) == filled:
                del found[source]
                if source in self.fingerprints:
                    found[source] = self.fingerprints[source]
        return found


def _is_filled(source: Source, before: Fingerprint) -> bool:
    return source.kind in _NAMES and before in _NOTHING


_NOTHING = (ABSENT, UNDEFINED, fingerprint(None), fingerprint({}))
_NAMES = frozenset({"attribute", "global", "closure"})
_ROOTS = frozenset({"global", "closure", "code", "module"})
"""Kinds of sources that are reached from the function itself, not from an argument."""
