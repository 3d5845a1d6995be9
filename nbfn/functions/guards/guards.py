"""Guards: the Python state outside its arguments that a function bakes into its traces.

A trace holds the globals, closures, attributes and helpers' code that were read while it was made.
nbfn treats them as implicit arguments: they are part of the key, by a number that stands for all of
them. What the traced code changes itself is exempt.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from nbfn.functions.bytecode.graph_time import NOTHING
from nbfn.functions.bytecode.reads import Named
from nbfn.functions.guards.fingerprints import ABSENT, Fingerprint
from nbfn.functions.guards.guard_builder import guard_set_of
from nbfn.functions.guards.guard_set import GuardSet, Source
from nbfn.functions.guards.introspection import Fetch, late
from nbfn.functions.guards.unwrapping import fingerprint_of_functions, unwrapped
from nbfn.site import warn

OnStale = Literal["retrace", "warn", "raise", "ignore"]
Fingerprints = Mapping[Source, Fingerprint]
Numbers = dict[frozenset[tuple[Source, Fingerprint]], int]
Exemptions = tuple[frozenset[Source], Numbers]

_MAX_KNOWN = 64


class Renewal(NamedTuple):
    """What becomes of earlier keys when less is guarded.

    Attributes:
        numbers: The new number of each old one.
        fingerprints: Makes new fingerprints of old ones.
    """

    numbers: dict[int, int]
    fingerprints: Callable[[Fingerprints], Fingerprints]


@dataclass
class OfObjects:
    """The guards of the objects among a call's arguments.

    Attributes:
        own: The function's own guards, whose attributes are looked for in the objects.
        references: The objects, held weakly.
        guards: What they hold.
        number: The key of both together, once it is known.
    """

    own: GuardSet
    references: list[Fetch]
    guards: GuardSet
    number: int | None = None

    def serves(self, own: GuardSet | None) -> bool:
        """Whether the objects are there and hold what they held, and the function's own is this."""
        are_there = self.own is own and all(fetch() is not None for fetch in self.references)
        return are_there and self.guards.is_valid()


class Guards:
    """The guards of one function.

    Attributes:
        on_stale: What a call does that finds something changed.
    """

    def __init__(
        self, python_function: Callable[..., Any], owner: Callable[[], Any], on_stale: OnStale
    ) -> None:
        self.on_stale = on_stale
        self._python_function = python_function
        self._owner = owner
        self._guard_set: GuardSet | None = None
        self._of_objects: dict[Any, OfObjects] = {}
        self._state = 0
        self._exempt: frozenset[Source] = frozenset()
        self._graph_time = NOTHING
        self._numbers: Numbers = {}
        self._lock = threading.RLock()
        self._looking = 0

    @property
    def state(self) -> int:
        """A number for all that is guarded; the same when nothing has changed, or changed back."""
        if self.on_stale == "ignore":
            return 0
        try:
            if self._guard_set is None or not (self._looking or self._guard_set.is_valid()):
                with self._lock:
                    own = [("self", self._owner()), ("", self._python_function)]
                    now = guard_set_of(own, self._graph_time)
                    now.fingerprints.update(self._own_code())
                    self._guard_set, self._state = now, self._number(now.fingerprints)
        except Exception as error:  # the user's objects may do anything when they are looked at
            self._give_up(error)
            return 0
        return self._state

    @contextmanager
    def looked_at_once(self) -> Iterator[None]:
        """What is asked inside is answered by one look: no code of the user's runs meanwhile."""
        _ = self.state
        self._looking += 1
        try:
            yield
        finally:
            self._looking -= 1

    def _own_code(self) -> Fingerprints:
        """The fingerprint of the function itself, whose code autoreload replaces."""
        functions = list(unwrapped(self._python_function))
        if not functions:
            return {}
        source = Source("code", functions[-1].__name__)
        return {source: fingerprint_of_functions(functions, self._python_function)}

    def _give_up(self, error: Exception) -> None:
        """An observer that fails is switched off with one warning; calls go on as TensorFlow's."""
        self.on_stale = "ignore"
        self._guard_set = GuardSet()
        name = getattr(self._python_function, "__name__", "a function")
        warn(
            f"nbfn no longer watches the Python values that `{name}` bakes into its traces; its "
            f"calls go on as usual: {error!r}"
        )

    @property
    def attributes(self) -> frozenset[Named]:
        """Every attribute that the function's code names, itself and through its helpers."""
        _ = self.state
        return frozenset() if self._guard_set is None else self._guard_set.attributes

    def fingerprints(self, objects: Iterable[tuple[str, Any]] = ()) -> Fingerprints:
        """What is guarded now.

        Args:
            objects: The arguments that are objects, by name: their attributes are guarded too.
        """
        if self.on_stale == "ignore":
            return {}
        with self._lock:
            _ = self.state
            assert self._guard_set is not None
            fingerprints = dict(self._guard_set.fingerprints)
            try:
                fingerprints.update(self._known(tuple(objects)).guards.fingerprints)
            except Exception as error:
                self._give_up(error)
            return self._guarded(fingerprints)

    def references(self) -> list[Fetch]:
        """Weak references to the guarded objects without which no call finds a trace again."""
        if self.on_stale != "retrace" or self._guard_set is None:
            return []
        return [reference for _, reference in self._guard_set.weak]

    def _known(self, objects: tuple[tuple[str, Any], ...]) -> OfObjects:
        """The guards of some objects, found anew when anything has changed."""
        own = self._guard_set
        assert own is not None
        place = tuple((name, id(value)) for name, value in objects)
        known = self._of_objects.get(place)
        if known is None or not known.serves(own):
            if len(self._of_objects) >= _MAX_KNOWN:
                self._of_objects.clear()
            guards = guard_set_of(objects, self._graph_time, own.attributes)
            known = OfObjects(own, [late(value) for _, value in objects], guards)
            self._of_objects[place] = known
        return known

    def _guarded(self, fingerprints: Fingerprints) -> Fingerprints:
        """The fingerprints without those of exempt sources."""
        return {
            source: fingerprint
            for source, fingerprint in fingerprints.items()
            if source not in self._exempt
        }

    def key(self, objects: Iterable[tuple[str, Any]] = ()) -> int:
        """The part of a trace's key that stands for what is guarded."""
        if self.on_stale != "retrace":
            return 0
        objects, state = tuple(objects), self.state
        if not objects:
            return state
        with self._lock:
            known = self.of_objects(objects)
            if known is None:
                return 0
            if known.number is None:
                known.number = self._number(self.fingerprints(objects))
            return known.number

    def of_objects(self, objects: Iterable[tuple[str, Any]]) -> OfObjects | None:
        """The guards of some objects; None if they are in no key."""
        if self.on_stale != "retrace":
            return None
        try:
            _ = self.state
            return self._known(tuple(objects))
        except Exception as error:
            self._give_up(error)
            return None

    def hold(self, known: OfObjects) -> bool:
        """Whether the guards of some objects still hold; `state` has been asked before."""
        try:
            return known.serves(self._guard_set)
        except Exception:  # the ordinary way tells
            return False

    def after_trace(
        self,
        objects: tuple[tuple[str, Any], ...],
        before: Fingerprints | None,
        asked: Iterable[Callable[[], Any]],
        at_graph_time: Collection[Callable[..., Any]],
    ) -> Renewal | None:
        """Takes in what a new trace has shown: on some of what was guarded it does not depend.

        That is what the traced code itself has changed, what the trace asks for at each call, and
        what Python does at graph time.

        Args:
            objects: As for `fingerprints`.
            before: The fingerprints before it was traced; None if nobody looked.
            asked: Functions that the trace asks at each call; what they read is read anew.
            at_graph_time: Functions that the trace has given to ``py_function``.

        Returns:
            How earlier keys change; None if nothing new was learned.
        """
        with self._lock:
            now = self.fingerprints(objects)
            free = set() if before is None else {source for source, _ in changes(before, now)}
            read = [s for each in asked for s in guard_set_of([("", each)]).fingerprints]
            names = {(source.kind, source.name) for source in read}
            free |= {source for source in now if (source.kind, source.name) in names}
            graph_time = self._graph_time.and_of(at_graph_time)
            if not free and graph_time == self._graph_time:
                return None
            self._exempt, self._graph_time, self._guard_set = self._exempt | free, graph_time, None
            old, self._numbers = self._numbers, {}
            after = self.fingerprints(objects)

            def renewed(fingerprints: Fingerprints) -> Fingerprints:
                return {
                    source: after[source] if now.get(source) == fingerprint else fingerprint
                    for source, fingerprint in self._guarded(fingerprints).items()
                    if source in after or source not in now
                }

            numbers = {number: self._number(renewed(dict(known))) for known, number in old.items()}
            numbers[0] = 0  # nothing is guarded
            return Renewal(numbers, renewed)

    def exemptions(self) -> Exemptions:
        """What is exempt now, and the numbers of all sets, for `restore`."""
        return self._exempt, self._numbers

    def restore(self, exemptions: Exemptions) -> None:
        """Goes back to these exemptions and their numbers."""
        (self._exempt, self._numbers), self._guard_set = exemptions, None

    def _number(self, fingerprints: Fingerprints) -> int:
        with self._lock:
            known = frozenset(self._guarded(fingerprints).items())
            return self._numbers.setdefault(known, len(self._numbers) + 1)


def changes(
    before: Fingerprints, after: Fingerprints
) -> list[tuple[Source, tuple[Fingerprint, Fingerprint]]]:
    """The sources whose fingerprints differ, with the old and the new fingerprint."""
    return [
        (source, (before.get(source, ABSENT), after.get(source, ABSENT)))
        for source in {**before, **after}
        if before.get(source, ABSENT) != after.get(source, ABSENT)
    ]


def changed_roots(
    before: Fingerprints, after: Fingerprints
) -> list[tuple[Source, tuple[Fingerprint, Fingerprint]]]:
    """The changes that the user has made: what follows from another object is left out.

    That is what lies below it, and what only the old or the new one has. An attribute that has
    changed in an object and in its parts, as ``trainable`` of a model does, is one change.
    """
    found = changes(before, after)
    routes = {source.route for source, _ in found}
    is_another = any(set(_IDENTITIES) & {old.kind, new.kind} for _, (old, new) in found)
    return [
        (source, pair)
        for source, pair in found
        if source.kind != "internal"
        and ((source in before and source in after) or not is_another)
        and routes.isdisjoint(_above(source.route))
    ]


def _above(route: str) -> Iterator[str]:
    """The routes on the way to one, and those of its attribute in the objects on the way."""
    attribute = route[route.rfind(".") :] if "." in route else ""
    for step in _STEP.finditer(route):
        before = route[: step.start()]
        yield before
        if before + attribute != route:
            yield before + attribute


_IDENTITIES = ("function", "object")
_STEP = re.compile(r"[.\[(/<]")
