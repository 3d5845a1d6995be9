"""`GuardedState`: what a trace depends on, of all that its code reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from nbfn.state.state import Change, Fingerprints, Source, changed_roots, changes
from nbfn.state.values.fingerprints import Fingerprint


@dataclass(eq=False)
class GuardedState:
    """A state in which a function was called, without what makes no difference to its traces.

    Attributes:
        number: The part of a trace's key that stands for it; 0 for no part.
        fingerprints: The fingerprint of each source.
        exempt: The sources on which its traces do not depend.
    """

    number: int = 0
    fingerprints: dict[Source, Fingerprint] = field(default_factory=dict)
    exempt: frozenset[Source] = frozenset()

    def changes(self, now: Fingerprints) -> list[Change]:
        """What differs now."""
        return changes(self.fingerprints, self._guarded(now))

    def changed_roots(self, now: Fingerprints, partial: bool = False) -> list[Change]:
        """What the user has changed since.

        Args:
            now: What is read now.
            partial: Whether the arguments of a call, and what they lead to, are not among it.
        """
        before = self.fingerprints
        if partial:
            before = {s: each for s, each in before.items() if s in now or s.kind in _ROOTS}
        return changed_roots(before, self._guarded(now))

    def differences(self, other: GuardedState) -> list[Change]:
        """What the user has changed between this state and another; nothing if no key has them."""
        if not (self.number or other.number):
            return []
        return changed_roots(other._guarded(self.fingerprints), self._guarded(other.fingerprints))

    def is_replaced(self, now: GuardedState) -> bool:
        """Returns whether code that was read has been written anew, and is other code now."""
        return any(
            known.is_gone is not None
            and now.fingerprints.get(source, known) != known
            and known.is_gone()
            for source, known in self.fingerprints.items()
        )

    def learn(self, sources: Iterable[Source]) -> None:
        """Takes in that traces of this state do not depend on some sources."""
        learned = self.exempt.union(sources)
        if learned != self.exempt:
            self.exempt = learned
            self.fingerprints = self._guarded(self.fingerprints)

    def _guarded(self, fingerprints: Fingerprints) -> dict[Source, Fingerprint]:
        if not self.exempt:
            return dict(fingerprints)
        return {source: each for source, each in fingerprints.items() if source not in self.exempt}


_ROOTS = frozenset({"global", "closure", "code", "module"})
"""The kinds of sources that are reached from the function alone, and not from an argument."""
