"""`check`: does a function do the same eagerly and traced?

RFC "Functions, not Sessions": a call of the decorated function behaves like a call of the Python
function. Python side effects are the exception, because a trace does not repeat them; `check`
reports these, and differences in values and variables.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbfn.errors import NbfnError
from nbfn.functions.checking.trial import Outcome, Trial
from nbfn.functions.effects.finder import TRACED_FUNCTION, Effect, Finder
from nbfn.functions.effects.rules import LOOPS_OVER_DATA
from nbfn.functions.recording.recorded import Recorded
from nbfn.site import Site
from nbfn.state.helpers import with_helpers
from nbfn.text import count, shorten, with_notes


class CheckError(NbfnError, TypeError):
    """A function cannot be checked with these arguments."""


@dataclass(frozen=True)
class Difference:
    """One difference between an eager call and a traced call.

    Attributes:
        kind: ``"value"``, ``"variable"``, ``"effect"`` (of Python), ``"leak"`` (a tensor of the
            graph that stays reachable) or ``"error"``.
        name: What differs: a part of the result, a variable, a name or attribute.
        sentence: The difference in words.
        site: The line that causes it, or the first line of the function.
    """

    kind: str
    name: str
    sentence: str
    site: Site

    def __repr__(self) -> str:
        return f"{self.site}: {self.sentence}"


@dataclass(frozen=True)
class Check:
    """The result of `check`.

    Attributes:
        function: The function's name.
        differences: The differences between an eager call and a call served by a trace.
        notes: What could not be compared, and other remarks.
        variables: Number of variables that were compared.
        numerics: The operations that gave NaN or infinity, if requested.
    """

    function: str
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    variables: int
    numerics: Any = None

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        compared = f"its result and {count(self.variables, 'variable')} compared"
        if self.ok:
            head = f"`{self.function}` does the same eagerly and traced ({compared})"
        else:
            number = count(len(self.differences), "thing")
            head = f"`{self.function}` does {number} differently when it is traced ({compared}):"
        text = with_notes(head, self.differences, self.notes)
        return text if self.numerics is None else f"{text}\n{self.numerics}"


def check(function: Recorded, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Check:
    """Runs a function eagerly and traced, and compares.

    Every variable that the function reads or writes is restored afterwards, also if one of the runs
    fails; so are Python state that the function can reach, and Python's and NumPy's random numbers.
    Variables that it creates on its first call stay, with their initial values. Tables, queues and
    iterators are not restored. The function's own traces and counts do not change.

    Raises:
        CheckError: If the arguments do not fit the function.
    """
    with trial_of(function, args, kwargs) as trial:
        outcome = trial.run()
    source = _Source(function)
    found = [
        *_errors(outcome, source),
        *_values(outcome, source),
        *_variables(outcome, source),
        *_prints(outcome, source),
        *_effects(outcome, source),
        *_leaks(outcome, source),
        *_reads(source),
    ]
    return Check(function.label, tuple(found), tuple(_notes(outcome)), outcome.variables)


def trial_of(function: Recorded, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Trial:
    """Returns the trial of a function. Raises CheckError as `check`."""
    if not hasattr(function, "recorder") or not hasattr(function, "prepared"):
        raise CheckError(
            f"expected a function made with nbfn.function, found {type(function).__name__} "
            f"{shorten(repr(function))}"
        )
    try:
        inspect.signature(function.python_function).bind(*args, **kwargs)
        return Trial(function, args, kwargs)
    except TypeError as error:
        why = str(error).removeprefix(f"`{function.label}`: ")
        raise CheckError(f"`{function.label}` cannot be called like this: {why}") from None


class _Source:
    """Finds lines in the source of a function and its helpers."""

    def __init__(self, function: Recorded) -> None:
        functions = with_helpers(function.python_function)
        finder = Finder(TRACED_FUNCTION)
        self.effects = [each for function in functions for each in finder.effects_in(function)]
        self.files = {each.__code__.co_filename for each in functions}
        self._site = function.site
        self._first = (
            (functions[0].__code__.co_filename, functions[0].__code__.co_firstlineno)
            if functions
            else (function.site.file, function.site.line)
        )

    def site(self, file: str | None = None, line: int | None = None) -> Site:
        if file is None or line is None:
            file, line = self._first
        return Site(file, line, self._site.cell if file == self._site.file else None)

    def of(self, place: str, kind: str = "write") -> Site:
        effect = _effect_on(place, kind, self.effects)
        return self.site() if effect is None else self.site(effect.file, effect.inner)


def _effect_on(place: str, kind: str, effects: Sequence[Effect]) -> Effect | None:
    """Returns the effect that wrote to a place such as ``self.log``; None if it is not found."""
    candidates = [effect for effect in effects if effect.reason.kind == kind and effect.target]
    for effect in candidates:
        if effect.target == place:
            return effect
    for effect in candidates:
        longer, shorter = sorted((effect.target, place), key=len, reverse=True)
        if longer.startswith(shorter) and longer[len(shorter)] in ".[":
            return effect
    return None


def _errors(outcome: Outcome, source: _Source) -> Iterator[Difference]:
    eager, traced = outcome.eager.error, outcome.traced.error
    if type(eager) is type(traced):
        return
    parts = []
    for run, error in (("eagerly", eager), ("traced", traced)):
        raised = f"raises {type(error).__name__}: {shorten(str(error))}"
        parts.append(f"{run} it {raised if error is not None else 'returns'}")
    error = traced if traced is not None else eager
    place = outcome.place_of(error, source.files)
    yield Difference("error", "the call", "; ".join(parts), source.site(*place))


def _values(outcome: Outcome, source: _Source) -> Iterator[Difference]:
    for name, how in outcome.value_differences:
        yield Difference("value", name, f"{name} {how}", source.site())


def _variables(outcome: Outcome, source: _Source) -> Iterator[Difference]:
    for name, how in outcome.variable_differences:
        yield Difference("variable", name, f"the variable `{name}` {how} afterwards", source.site())


def _prints(outcome: Outcome, source: _Source) -> Iterator[Difference]:
    eager, traced = outcome.eager.printed, outcome.traced.printed
    for place in {**eager, **traced}:
        before, after = eager.get(place, 0), traced.get(place, 0)
        if before != after:
            sentence = (
                f"print writes {count(before, 'line')} at each eager call, and "
                f"{count(after, 'line')} at a call that a trace serves; use tf.print"
            )
            yield Difference("effect", "print", sentence, source.site(*place))


def _effects(outcome: Outcome, source: _Source) -> Iterator[Difference]:
    for place in outcome.only_eager(outcome.eager.written, outcome.traced.written):
        sentence = (
            f"an eager call changes `{place}` each time, a traced call only while it is traced; "
            "make it a tf.Variable, or return the value"
        )
        yield Difference("effect", place, sentence, source.of(place))
    for place in outcome.only_eager(outcome.eager.drawn, outcome.traced.drawn):
        sentence = (
            f"an eager call draws from `{place}` each time, a traced call only while it is traced, "
            "so the trace keeps one draw; use tf.random"
        )
        yield Difference("effect", place, sentence, source.of(place, "draw"))


def _leaks(outcome: Outcome, source: _Source) -> Iterator[Difference]:
    for place, tensor in outcome.leaks.items():
        sentence = (
            f"`{place}` holds `{tensor}`, a tensor of the graph, after tracing, and cannot be used "
            "outside; return it, or assign it to a tf.Variable"
        )
        yield Difference("leak", place, sentence, source.of(place))


def _reads(source: _Source) -> Iterator[Difference]:
    """Yields what a trace reads once, such as the clock or a file; two runs need not show it."""
    for effect in source.effects:
        # AutoGraph converts a loop over a dataset to a loop of the graph.
        if effect.reason.kind == "read" and effect.reason is not LOOPS_OVER_DATA:
            sentence = f"it {effect.reason.text} at each eager call, and once while tracing"
            advice = f"; {effect.reason.advice}" if effect.reason.advice else ""
            site = source.site(effect.file, effect.inner)
            yield Difference("effect", effect.what, sentence + advice, site)


def _notes(outcome: Outcome) -> Iterator[str]:
    if outcome.random:
        yield (
            f"it draws from the hidden state of tf.random ({', '.join(outcome.random)}), so values "
            "were not compared, only dtypes and shapes; tf.random.Generator and stateless "
            "operations can be compared"
        )
    if outcome.resources:
        yield (
            f"it changes state outside of variables ({', '.join(outcome.resources)}); both runs "
            "changed it, and it was not put back, so values that depend on it were not compared"
        )
    if outcome.eager.error is not None and type(outcome.eager.error) is type(outcome.traced.error):
        yield f"both runs raised {type(outcome.eager.error).__name__}"
