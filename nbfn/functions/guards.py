"""Guards: the Python state, besides its arguments, that a function bakes into its traces.

A trace contains the globals, closures, attributes and helpers' code that were read while it was
made. nbfn treats them as implicit arguments: each state in which a function is called has a number,
which is part of a trace's key. State that the traced code itself changes is excluded.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from threading import get_ident
from typing import Any, Literal

from nbfn import _tensorflow
from nbfn.code import is_library, plain_function
from nbfn.serial import serial
from nbfn.site import warn
from nbfn.state.bytecode.graph_time import NOTHING
from nbfn.state.bytecode.reads import Named
from nbfn.state.columns import IdentityCheck, in_columns
from nbfn.state.guarded import GuardedState
from nbfn.state.state import Fingerprints, Source, State
from nbfn.state.values.fingerprints import fingerprint, is_a
from nbfn.state.values.introspection import Fetch, fetch_of, reference_to
from nbfn.state.values.unwrapping import PARTIALS, fingerprint_of_functions, unwrapped
from nbfn.state.walk import state_of
from nbfn.underway.stacks import stack_of

OnStale = Literal["retrace", "warn", "raise", "ignore"]
Objects = tuple[tuple[str, Any], ...]
"""The objects among the arguments of a call, by name."""

_NOTHING = State()
# Bounds for functions that get new objects at each call. What is dropped is computed again.
_MAX_KNOWN = 64
_MAX_STATES = 1024


@dataclass
class ObjectGuards:
    """The guards of the objects among a call's arguments.

    Attributes:
        own: The function's own state, whose attributes are read from the objects.
        references: Weak references to the objects.
        state: The state of the objects.
        both: The combined state of the function and the objects, once it is known.
    """

    own: State
    references: list[Fetch]
    state: State
    both: GuardedState | None = None

    def serves(self, own: State | None) -> bool:
        """Returns whether the objects are alive and unchanged, for this state of the function."""
        are_there = self.own is own and all(fetch() is not None for fetch in self.references)
        return are_there and self.state.holds()


def _watch(state: State, settings: Iterable[str]) -> Fingerprints:
    """Adds hidden settings of TensorFlow and Keras to a state; returns their fingerprints."""
    found = {}
    for name in settings:
        fetch = _tensorflow.SETTINGS[name]
        value = fetch()
        found[Source("setting", name)] = fingerprint(value)
        is_weak = reference_to(value) is not None
        state.checks += in_columns([IdentityCheck(fetch, value, is_weak)])
    state.fingerprints.update(found)
    return found


def _other_user_code_runs() -> bool:
    """Returns whether another thread, which runs user code, may have changed what a trace reads."""
    here = get_ident()
    if here != threading.main_thread().ident:
        return True
    others = (stack_of(thread) for thread in sys._current_frames() if thread != here)
    files = {frame.file for stack in others for frame in stack}
    return not all(file.startswith("<frozen ") or is_library(file) for file in files)


def _is_changed_by_others(source: Source, pair: tuple[Any, Any], states: Iterable[State]) -> bool:
    """Returns whether another thread has assigned to a name, to which no code here assigns.

    Containers and functions may be changed in place, by methods.
    """
    kinds = ((str,), (bool,))  # as `content_of` begins for these
    is_assigned = all(
        each.kind not in (None, "function") or each.content[:1] in kinds for each in pair
    )
    has_name = source.kind in ("global", "closure", "attribute")
    return is_assigned and has_name and not any(each.may_store(source) for each in states)


class Guards:
    """The guards of one function.

    Attributes:
        on_stale: What a call does if something has changed.
        named: Attributes that are read although no code of the user's names them.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        owner: Callable[[], Any],
        on_stale: OnStale,
        attributes: frozenset[Named] = frozenset(),
    ) -> None:
        self.named = attributes
        self.on_stale = on_stale
        self._python_function = fetch_of(python_function)  # its tf.function keeps it
        self._owner = owner
        self._own = _NOTHING
        self._current: GuardedState | None = None
        self._of_objects: dict[Any, ObjectGuards] = {}
        self._states: dict[int, GuardedState] = {}
        self._made = 0
        self._graph_time = NOTHING
        self._settings: frozenset[str] = frozenset()
        # Reentrant, because `guarded` reads `state`.
        self._lock = threading.RLock()

    @property
    def state(self) -> int:
        """The number of the current state; a state that returns has its earlier number."""
        if self.on_stale == "ignore":
            return 0
        try:
            now = self._current
            # Another thread may have found a change in the meantime; then the new state holds.
            if now is None or not self._own.holds() or self._current is not now:
                with self._lock:
                    now = self._current = self._state_with(self._own_state().fingerprints)
        except Exception as error:  # inspecting user objects may raise anything
            self._disable(error)
            return 0
        return now.number

    def _own_state(self) -> State:
        """Returns the current state of what the function itself reads."""
        if self._own is _NOTHING or not self._own.holds():
            function = self._python_function()
            # Without a function inside it is an object with `__call__`.
            name = "" if next(unwrapped(function), None) else "self"
            if is_a(function, PARTIALS):
                name = "partial"
            own = [("self", self._owner()), (name, function)]
            now = state_of(own, self._graph_time, self.named)
            now.fingerprints.update(self._own_code())
            _watch(now, self._settings)
            self._own, self._current = now, None
        return self._own

    def _own_code(self) -> Fingerprints:
        """Returns the fingerprint of the function itself, whose code autoreload may replace."""
        python_function = self._python_function()
        functions = list(unwrapped(python_function))
        if not functions:
            return {}
        source = Source("code", functions[-1].__name__)
        # TensorFlow passes the defaults of a plain function as arguments.
        is_wrapped = functions != [plain_function(python_function)]
        code = fingerprint_of_functions(functions, functions[0], with_defaults=is_wrapped)
        return {source: code}

    def _disable(self, error: Exception) -> None:
        """Disables the guards with one warning; calls go on as TensorFlow's do."""
        self.on_stale = "ignore"
        self._own, self._current = _NOTHING, GuardedState()
        name = getattr(self._python_function(), "__name__", "a function")
        warn(
            f"nbfn no longer watches the Python values that `{name}` bakes into its traces; its "
            f"calls go on as usual: {error!r}"
        )

    @property
    def attributes(self) -> frozenset[Named]:
        """The attributes that the function's code names, directly and in helpers."""
        _ = self.state
        return self._own.attributes

    def fingerprints(self, objects: Iterable[tuple[str, Any]] = ()) -> Fingerprints:
        """Returns the current fingerprints of what is read.

        Args:
            objects: The objects among the arguments, by name, whose attributes are read, too.
        """
        objects = tuple(objects)
        if self.on_stale == "ignore":
            return {}
        try:
            with self._lock:
                own = self._own_state().fingerprints
                return {**own, **self._guards_of(objects).state.fingerprints} if objects else own
        except Exception as error:
            self._disable(error)
            return {}

    def references(self) -> list[Fetch]:
        """Returns weak references to the guarded objects that a trace needs to be found."""
        if self.on_stale != "retrace":
            return []
        return [*self._own.references, *self._own.contained]

    def _guards_of(self, objects: Objects) -> ObjectGuards:
        """Returns the guards of some objects, computed again if anything has changed."""
        own = self._own
        # `serves` checks that the ids still belong to the same objects.
        place = tuple((name, id(value)) for name, value in objects)
        object_guards = self._of_objects.get(place)
        if object_guards is None or not object_guards.serves(own):
            if len(self._of_objects) >= _MAX_KNOWN:
                self._of_objects.clear()
            state = state_of(objects, self._graph_time, own.attributes)
            for name, value in objects:
                if functions := list(unwrapped(value)):  # whose code and bound values may change
                    code = fingerprint_of_functions(functions, value, self._graph_time)
                    state.fingerprints[Source("code", name, name)] = code
            object_guards = ObjectGuards(own, [fetch_of(value) for _, value in objects], state)
            self._of_objects[place] = object_guards
        return object_guards

    def guarded(self, objects: Objects = ()) -> GuardedState:
        """Returns the current state, for a call with these objects.

        Its number is 0 if changes do not cause new traces.
        """
        with self._lock:
            _ = self.state
            if self.on_stale != "retrace" or self._current is None:
                return GuardedState(0, dict(self.fingerprints(objects)))
            object_guards = self.of_objects(objects) if objects else None
            if object_guards is None:
                return self._current
            if object_guards.both is None:
                object_guards.both = self._state_with(self.fingerprints(objects))
            return object_guards.both

    def reads(self, variable: Any, objects: Objects = ()) -> bool:
        """Returns whether the code reaches a variable, itself or from the objects of a call."""
        if self.on_stale == "ignore":
            return False
        states = [self._own, *([self._guards_of(objects).state] if objects else ())]
        return any(serial(variable) in state.variables for state in states)

    def of_objects(self, objects: Objects) -> ObjectGuards | None:
        """Returns the guards of some objects; None if they are not part of keys."""
        if self.on_stale != "retrace":
            return None
        try:
            _ = self.state
            return self._guards_of(objects)
        except Exception as error:
            self._disable(error)
            return None

    def hold(self, object_guards: ObjectGuards) -> bool:
        """Returns whether the guards of some objects still hold; `state` was read before."""
        try:
            return object_guards.serves(self._own)
        except Exception:  # the slow path calls `guarded`, which reports it
            return False

    def after_trace(
        self,
        made_in: GuardedState,
        objects: Objects,
        called_each_time: Iterable[Callable[[], Any]],
        at_graph_time: Collection[Callable[..., Any]],
    ) -> None:
        """Exempts what a new trace does not depend on, and records what tracing created.

        This is what the traced code itself has changed, what the trace reads again at each call,
        and what Python reads at graph time.

        Args:
            made_in: The state in which tracing began.
            objects: As for `guarded`.
            called_each_time: Functions that the trace calls; what they read is read again.
            at_graph_time: Functions that the trace has passed to ``py_function``.
        """
        with self._lock:
            now = self.fingerprints(objects)
            # What is no longer read, because the code has cached a value that depends on it, is
            # read again when the cache is cleared.
            changed = {source: pair for source, pair in made_in.changes(now) if source in now}
            by_others = self._changed_by_others(changed, objects)
            if by_others:
                # They keep the old values, so the next call is in another state. Which values the
                # trace has read is not known, so it serves in neither.
                now = {**now, **{each: made_in.fingerprints[each] for each in by_others}}
                self.forget(made_in)
            read_again = self._read_by(called_each_time, now)
            made_in.exempt_sources(read_again)
            made_in.note_changes(changed.keys() - by_others - read_again, now)
            graph_time = self._graph_time.and_of(at_graph_time)
            if graph_time != self._graph_time:
                self._graph_time, self._own = graph_time, _NOTHING
                # The walk now leaves out what runs at graph time: earlier states must not differ by
                # that.
                self._replace(now, self.fingerprints(objects))
            self._current = None  # the current state may depend on what is exempt

    @staticmethod
    def _read_by(functions: Iterable[Callable[[], Any]], now: Fingerprints) -> set[Source]:
        """Returns the sources that functions read themselves."""
        read = [s for each in functions for s in state_of([("", each)]).fingerprints]
        names = {(source.kind, source.name) for source in read}
        return {source for source in now if (source.kind, source.name) in names}

    def _changed_by_others(self, changed: dict[Source, Any], objects: Objects) -> set[Source]:
        """Returns the changed sources that another thread has changed."""
        if not changed or not _other_user_code_runs():
            return set()
        states = [self._own, *([self._guards_of(objects).state] if objects else ())]
        return {each for each, pair in changed.items() if _is_changed_by_others(each, pair, states)}

    def depend_on(self, settings: frozenset[str], made_in: GuardedState) -> None:
        """Adds the hidden settings that a new trace depends on: names in `SETTINGS`."""
        with self._lock:
            if new := settings - self._settings:
                self._settings, self._own = self._settings | new, _NOTHING
                made_in.fingerprints = {**made_in.fingerprints, **_watch(State(), new)}

    def forget(self, state: GuardedState) -> None:
        """Removes a state whose trace is for one call only; later calls are in another state.

        Such a call created variables, which later calls do again, or values changed meanwhile.
        """
        with self._lock:
            self._states.pop(state.number, None)
            self._current = None

    def _replace(self, before: Fingerprints, after: Fingerprints) -> None:
        """Updates in all states the fingerprints that are now read differently."""
        for state in self._states.values():
            state.fingerprints = {
                source: after[source] if before.get(source) == fingerprint else fingerprint
                for source, fingerprint in state.fingerprints.items()
                if source in after or source not in before
            }

    def drop(self, numbers: Collection[int]) -> None:
        """Removes the states without traces, which have none of these numbers."""
        with self._lock:
            now = self._current
            self._states = {n: e for n, e in self._states.items() if n in numbers or e is now}

    def _state_with(self, fingerprints: Fingerprints) -> GuardedState:
        """Returns the state with these fingerprints; a new one if there is none."""
        with self._lock:
            # The newest first: a value mostly returns to what it was before.
            for state in reversed(self._states.values()):
                if state.fingerprints == state.without_exempt(fingerprints):
                    return state
            if len(self._states) >= _MAX_STATES:
                self._states.clear()
            self._made += 1
            added = self._states[self._made] = GuardedState(self._made, dict(fingerprints))
            return added
