"""Runs a function twice from the same state: eagerly, and served by a new trace."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.code import plain_function
from nbfn.functions.checking.agreement import disagreement, disagreements
from nbfn.functions.recording.recorded import Recorded
from nbfn.functions.signatures.misfit import clearer_error
from nbfn.functions.traces.variable_names import named_leaves, names_for
from nbfn.state.helpers import named_values, with_helpers
from nbfn.state.saved import SavedState, content

Place = tuple[str, int]
# TensorFlow writes the traceback of a failed operation into the message of its error.
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


@dataclass
class RunEffects:
    """The effects of one run.

    Attributes:
        error: What it raised, if anything.
        written: Python state that it changed, with a fingerprint of the result.
        drawn: Sources of random numbers that it drew from.
        printed: Lines that it printed, by the place of the print.
    """

    error: Exception | None = None
    written: dict[str, Any] = field(default_factory=dict)
    drawn: dict[str, Any] = field(default_factory=dict)
    printed: Counter[Place] = field(default_factory=Counter)


@dataclass
class Outcome:
    """The effects of both runs, and how the results differ; holds no results or arguments."""

    eager: RunEffects
    traced: RunEffects
    value_differences: list[tuple[str, str]]
    variable_differences: list[tuple[str, str]]
    variables: int
    leaks: dict[str, str]
    random: list[str]
    resources: list[str]

    def only_eager(self, eager: Mapping[str, Any], traced: Mapping[str, Any]) -> list[str]:
        """Returns the places where the eager run differs, outermost only."""
        places = [place for place in eager if eager[place] != traced.get(place)]
        places += [place for place in traced if place not in eager]
        return [
            place
            for place in places
            if not any(
                place != other and place.startswith((f"{other}.", f"{other}[")) for other in places
            )
        ]

    def place_of(self, error: Exception | None, files: set[str]) -> tuple[str, int] | tuple[()]:
        """Returns the innermost line in `files` that raised an error; empty if not known."""
        frames = traceback.walk_tb(None if error is None else error.__traceback__)
        found = [(frame.f_code.co_filename, line) for frame, line in frames]
        found += [(file, int(line)) for file, line in _FRAME.findall(str(error))]
        own = [place for place in found if place[0] in files]
        return own[-1] if own else ()


class _Traced(_tensorflow.UnlistedFunction):
    """A private tf.function of the same Python function, traced like the original."""

    original: Any

    def within_trace(self, call: functools.partial[Any]) -> Any:
        return self.original.within_trace(call, self)


def _parts(variable: Any) -> list[Any]:
    """Returns the variables that hold values: one for each replica, under a strategy."""
    values = getattr(variable, "values", None)
    if isinstance(values, (list, tuple)) and values:
        return list(values)
    return [variable]


def _value(variable: Any) -> Any | None:
    """Copies the value; None if the variable is uninitialized."""
    try:
        return tf.identity(variable.read_value())
    except tf.errors.OpError:
        return None


class Trial:
    """The two runs of one function; a with-block after which everything is restored."""

    def __init__(self, function: Recorded, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._function = function
        self._specs, self._args, self._kwargs = function.prepared(args, kwargs)
        self._functions = with_helpers(function.python_function)
        names = inspect.signature(function.python_function).parameters
        by_name = dict(zip(names, self._args, strict=False))
        reachable = {**by_name, **self._kwargs}
        if function.owner is not None:
            reachable["self"] = function.owner
        self._python = SavedState(self._functions, reachable)
        self._seeds = _tensorflow.eager_random_state()
        self._saved: dict[int, tuple[Any, Any]] = {}
        """Variables with their values, by ``id``."""
        self._save(self._known_variables())

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()

    def restore(self) -> None:
        """Restores variables, Python state and random numbers."""
        for variable, value in self._saved.values():
            variable.assign(value)
        self._python.restore()
        _tensorflow.restore_eager_random_state(self._seeds)

    def run(self) -> Outcome:
        """Traces, runs eagerly, restores everything, and runs the trace."""
        concrete, failure = self._trace()
        # Before `restore`, which takes them out of the Python state.
        leaks = {place: tensor.name for place, tensor in self._python.symbolic().items()}
        self._python.restore()
        self._add_variables_of(concrete)
        eager, result, after = self._observe(self.eagerly)
        self.restore()
        if concrete is None:
            traced, served, now = RunEffects(error=failure), None, list[Any]()
        else:
            call = functools.partial(concrete, *self._args, **self._kwargs)
            traced, served, now = self._observe(call)
        random = _tensorflow.stateful_random_operations(concrete.graph) if concrete else []
        resources = _tensorflow.changing_resource_operations(concrete.graph) if concrete else []
        both = eager.error is None and traced.error is None
        # A table or an iterator is not as before when the second run reads it.
        is_same = not random and all(each.startswith("Write") for each in resources)
        values = list(disagreements(result, served, values=is_same)) if both else []
        return Outcome(
            eager,
            traced,
            values,
            list(self._compare(after, now, values=is_same)) if both else [],
            len(self._saved),
            leaks,
            random,
            resources,
        )

    def _trace(self) -> tuple[Any, Exception | None]:
        copy = _tensorflow.untraced_copy(self._function, _Traced)
        copy.original = self._function
        try:
            return self.traced(copy), None
        except Exception as error:
            return None, error

    def create_variables(self) -> None:
        """Creates the variables that the function creates on its first call."""
        looked_up = self._function.look_up(self._args, self._kwargs)
        if looked_up is None or looked_up.concrete is None:
            self._trace()
            self._python.restore()

    def traced(self, copy: Any) -> Any:
        """Traces a private function for the arguments, without showing its prints."""
        with _listening(Counter(), ()):
            try:
                return copy.get_concrete_function(*self._specs, **self._kwargs)
            except TypeError as error:
                plain = clearer_error(self._function, self._args, self._kwargs, error)
                if plain is None:
                    raise
                raise plain from None

    def serve(self, concrete: Any) -> Exception | None:
        """Makes the call with a trace of `traced`; returns the error that it raised, if any."""
        self._add_variables_of(concrete)  # before `restore`: only Python state may hold them
        self._python.restore()
        try:
            concrete(*self._args, **self._kwargs)
        except Exception as error:
            return error
        return None

    @property
    def arguments(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The positional and the keyword arguments, as the input signature converts them."""
        return self._args, self._kwargs

    def eagerly(self) -> Any:
        """Runs the Python function."""
        function = self._function
        python_function = function.python_function
        owner = function.owner
        if owner is not None:
            # The tf.function of a method has a wrapper for AutoGraph (`bound_method_wrapper`,
            # TensorFlow 2.21). The one in the class has the function itself.
            unbound = inspect.getattr_static(type(owner), function.name, None)
            inner = getattr(unbound, "python_function", None) or plain_function(python_function)
            python_function = functools.partial(inner, owner)
        eagerly = tf.config.functions_run_eagerly()
        try:
            tf.config.run_functions_eagerly(True)  # inside `try`: an interrupt may follow at once
            return python_function(*self._args, **self._kwargs)
        finally:
            tf.config.run_functions_eagerly(eagerly)

    def _observe(self, call: Callable[[], Any]) -> tuple[RunEffects, Any, list[Any]]:
        run, result = RunEffects(), None
        files = {each.__code__.co_filename for each in self._functions}
        with _listening(run.printed, files):
            try:
                result = call()
            except Exception as error:
                run.error = error
        changes = self._python.changes()
        run.written = {place: content(new) for place, new in changes.items()}
        run.drawn = dict.fromkeys(self._python.drawn(), True)
        return run, result, [tf.identity(variable) for variable, _ in self._saved.values()]

    def _compare(
        self, eager: Sequence[Any], traced: Sequence[Any], *, values: bool
    ) -> Iterator[tuple[str, str]]:
        variables = {key: variable for key, (variable, _) in self._saved.items()}
        names = names_for(variables, self._function.recorder.roots())
        for variable, before, after in zip(variables.values(), eager, traced, strict=True):
            how = disagreement(before, after, values=values)
            if how is not None:
                yield names.get(id(variable), variable.name.removesuffix(":0")), how

    def _known_variables(self) -> list[Any]:
        function = self._function
        read = [item for each in self._functions for item in named_values(each).items()]
        arguments = [("self", function.owner), ("arguments", [*self._args, *self._kwargs.values()])]
        leaves = named_leaves([*read, *arguments]).values()
        variables = [leaf for leaf in leaves if isinstance(leaf, tf.Variable)]
        variables += [
            variable for trace in function.traces for variable in _captures(trace.live_concrete())
        ]
        return variables

    def _add_variables_of(self, concrete: Any) -> None:
        """Saves variables that only the trace captures, including those that it created."""
        self._save([*_captures(concrete), *self._known_variables()])

    def _save(self, variables: Iterable[Any]) -> None:
        """Saves the values of variables that were not saved before."""
        for part in (part for variable in variables for part in _parts(variable)):
            value = None if id(part) in self._saved else _value(part)
            if value is not None:
                self._saved[id(part)] = part, value


def _captures(concrete: Any) -> list[Any]:
    if concrete is None:
        return []
    return [each.variable for each in _tensorflow.captured(concrete) if each.variable is not None]


_TF_PRINT = inspect.unwrap(tf.print).__code__
"""The code of tf.print: in a notebook, eager tf.print writes through Python's stdout.

That is no difference between the runs.
"""


class _PrintCounter(io.StringIO):
    """A text stream that counts lines by the place that writes them."""

    def __init__(self, printed: Counter[Place], files: set[str] | tuple[()]) -> None:
        super().__init__()
        self._printed = printed
        self._files = files

    def write(self, text: str) -> int:
        lines = text.count("\n")
        frame = sys._getframe(1)
        while frame.f_code.co_filename not in self._files and frame.f_back is not None:
            if frame.f_code is _TF_PRINT:
                return len(text)
            frame = frame.f_back
        if lines and frame.f_code.co_filename in self._files:
            self._printed[frame.f_code.co_filename, frame.f_lineno] += lines
        return len(text)


# `redirect_stdout` changes `sys.stdout` for all threads: what others print meanwhile is lost, but
# not counted, as their frames are not of these files.
@contextlib.contextmanager
def _listening(printed: Counter[Place], files: set[str] | tuple[()]) -> Iterator[None]:
    with contextlib.redirect_stdout(_PrintCounter(printed, files)):
        yield
