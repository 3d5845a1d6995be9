"""Guards: the Python state outside its arguments that a function bakes into its traces.

A trace holds the globals, closures, attributes and helpers' code that were read while it was made.
nbfn treats them as implicit arguments: they are part of the key, by a number that stands for all of
them. What the traced code changes itself is exempt.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, get_args

from nbfn.errors import NbfnWarning
from nbfn.functions.bytecode.graph_time import NOTHING
from nbfn.functions.guards.fingerprints import ABSENT, Mark
from nbfn.functions.guards.guard_set import survey, survey_objects
from nbfn.functions.guards.source import Place, Survey
from nbfn.functions.guards.unwrapping import mark_of_functions, unwrapped

OnStale = Literal["retrace", "warn", "raise", "ignore"]
Marks = Mapping[Place, Mark]
Numbers = dict[frozenset[tuple[Place, Mark]], int]
Exemptions = tuple[frozenset[Place], Numbers]


def check_on_stale(on_stale: str) -> None:
    """Raises ValueError if it is none of the four policies."""
    if on_stale not in get_args(OnStale):
        expected = ", ".join(map(repr, get_args(OnStale)))
        raise ValueError(f"on_stale is {on_stale!r}, expected one of {expected}")


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
        self._survey: Survey | None = None
        self._state = 0
        self._exempt: frozenset[Place] = frozenset()
        self._graph_time = NOTHING
        self._also: Marks = {}
        self._numbers: Numbers = {}
        self._lock = threading.RLock()

    @property
    def state(self) -> int:
        """A number for all that is guarded; the same when nothing has changed, or changed back."""
        if self.on_stale == "ignore":
            return 0
        try:
            if self._survey is None or not self._survey.holds():
                with self._lock:
                    self._survey = survey(self._python_function, self._owner(), self._graph_time)
                    self._survey.marks.update({**self._own_code(), **self._also})
                    self._state = self._number(self._survey.marks)
        except Exception as error:  # the user's objects may do anything when they are looked at
            self._give_up(error)
            return 0
        return self._state

    def _own_code(self) -> Marks:
        """The mark of the function itself, whose code autoreload replaces."""
        functions = list(unwrapped(self._python_function))
        if not functions:
            return {}
        place = Place("code", functions[-1].__name__)
        return {place: mark_of_functions(functions, functions[-1])}

    def also(self, marks: Marks) -> None:
        """Guards some more, which whoever says so looks at."""
        if marks != self._also:
            with self._lock:
                self._also, self._survey = marks, None

    def _give_up(self, error: Exception) -> None:
        """An observer that fails is switched off with one warning; calls go on as TensorFlow's."""
        self.on_stale = "ignore"
        self._survey = Survey()
        name = getattr(self._python_function, "__name__", "a function")
        warnings.warn(
            f"nbfn stopped watching what `{name}` bakes into its traces, whose calls go on as "
            f"usual: {error!r}",
            NbfnWarning,
            stacklevel=2,
        )

    @property
    def attributes(self) -> frozenset[str]:
        """Every attribute that the function's code names, itself and through its helpers."""
        _ = self.state
        return frozenset() if self._survey is None else self._survey.attributes

    def marks(self, objects: Iterable[tuple[str, Any]] = ()) -> Marks:
        """What is guarded now.

        Args:
            objects: The arguments that are objects, by name: their attributes are guarded too.
        """
        if self.on_stale == "ignore":
            return {}
        with self._lock:
            _ = self.state
            assert self._survey is not None
            marks = dict(self._survey.marks)
            try:
                attributes = self._survey.attributes
                marks.update(survey_objects(objects, attributes, self._graph_time))
            except Exception as error:
                self._give_up(error)
            return self.guarded(marks)

    def guarded(self, marks: Marks) -> Marks:
        """The marks without those of exempt places."""
        return {place: mark for place, mark in marks.items() if place not in self._exempt}

    def key(self, objects: Iterable[tuple[str, Any]] = ()) -> int:
        """The part of a trace's key that stands for what is guarded."""
        if self.on_stale != "retrace":
            return 0
        objects = tuple(objects)
        return self._number(self.marks(objects)) if objects else self.state

    def learn(
        self, functions: Collection[Callable[..., Any]], objects: tuple[tuple[str, Any], ...]
    ) -> tuple[dict[int, int], Callable[[Marks], Marks]] | None:
        """Leaves out what some functions read, which a trace has given to ``py_function``.

        Args:
            functions: The functions.
            objects: As for `marks`.

        Returns:
            The new number of each old one, and what makes new marks of old ones; None if nothing is
            newly left out.
        """
        if not functions:
            return None
        with self._lock:
            before = self.marks(objects)
            self._graph_time, self._survey = self._graph_time.and_of(functions), None
            after = self.marks(objects)
            if not changes(before, after):
                return None

            def renewed(marks: Marks) -> Marks:
                return {
                    place: after[place] if before.get(place) == mark else mark
                    for place, mark in marks.items()
                    if place in after or place not in before
                }

            old, self._numbers, self._survey = self._numbers, {}, None
            numbers = {number: self._number(renewed(dict(marks))) for marks, number in old.items()}
            return numbers | {0: 0}, renewed

    def exempt(
        self, before: Marks, after: Marks, asked: Iterable[Callable[[], Any]] = ()
    ) -> dict[int, int] | None:
        """Exempts what a trace does not bake in.

        Args:
            before: The marks before it was traced.
            after: The marks after that; the traced code itself changes what differs.
            asked: Functions that the trace asks at each call; what they read is read anew.

        Returns:
            The new number of each old one; None if nothing is newly exempt.
        """
        free = {place for place, _ in changes(before, after)}
        for each in asked:
            free |= self._same_names(survey(each).marks, after)
        free -= self._exempt
        if not free:
            return None
        with self._lock:
            old = self._numbers
            self._exempt, self._numbers, self._survey = self._exempt | free, {}, None
            return {number: self._number(dict(marks)) for marks, number in old.items()} | {0: 0}

    def exemptions(self) -> Exemptions:
        """What is exempt now, for `restore`."""
        return self._exempt, self._numbers

    def restore(self, exemptions: Exemptions) -> None:
        """Makes exempt again what was."""
        (self._exempt, self._numbers), self._survey = exemptions, None

    def exempt_only(self, exemptions: Exemptions) -> None:
        """Makes exempt only what was then; the states of before have no number any more."""
        with self._lock:
            self._exempt, self._numbers, self._survey = exemptions[0], {}, None

    @staticmethod
    def _same_names(asked: Marks, known: Marks) -> set[Place]:
        names = {(place.kind, place.name) for place in asked}
        return {place for place in known if (place.kind, place.name) in names}

    def _number(self, marks: Marks) -> int:
        with self._lock:
            known = frozenset(self.guarded(marks).items())
            return self._numbers.setdefault(known, len(self._numbers) + 1)


def changes(before: Marks, after: Marks) -> list[tuple[Place, tuple[Mark, Mark]]]:
    """The places whose marks differ, with the old and the new mark."""
    return [
        (place, (before.get(place, ABSENT), after.get(place, ABSENT)))
        for place in {**before, **after}
        if before.get(place, ABSENT) != after.get(place, ABSENT)
    ]
