"""A segment: statements that run as one traced function."""

from __future__ import annotations

import ast
import contextlib
import io
import logging
import re
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nbfn import _tensorflow
from nbfn.errors import NbfnError, NbfnWarning
from nbfn.functions.checking.check import Check
from nbfn.functions.effects.abstract_values import is_tensor, is_variable
from nbfn.functions.effects.call_inspector import CallInspector, StoppedTraceError
from nbfn.functions.effects.statement import inspector_of
from nbfn.functions.segments.analysis import RESULT, Statement, names_of
from nbfn.functions.segments.body import Surroundings, function_of
from nbfn.functions.segments.contract import (
    RESULT_NAME,
    NotKeptError,
    OutputContract,
    Recipe,
    attributes_of,
    check_values,
)
from nbfn.functions.segments.numbers import Numbers
from nbfn.functions.segments.speed import SegmentTimes
from nbfn.functions.traced.function import function
from nbfn.functions.traced.traced_function import TracedFunction
from nbfn.functions.traces.cause import Cause
from nbfn.functions.traces.key import ValueLeaf
from nbfn.functions.traces.trace import EvictedError, Trace
from nbfn.text import join

SLOWER = "was slower as a graph"
_LITERALS = (bool, int, float, str, bytes, type(None))
# Each item is an input of the graph or part of its key.
_MAX_ITEMS = 1000
_MAX_VALUES = 3
"""Maximum number of values of a Python number, each of which has a trace.

A heuristic: see ``test_after_three_values_it_is_python`` in
``tests/functions/segments/test_numbers.py``.
"""
_IDLE = frozenset({"Placeholder", "Const", "Identity", "NoOp", "ReadVariableOp"})


class Segment:
    """Consecutive statements of one block that run as one function.

    Attributes:
        statements: The statements.
        label: The name of the function.
        function: The function; None before the segment is traced.
        times: Its times as Python and as a graph.
        first_cause: The cause of its first trace.
        draws: Whether functions that it calls draw random numbers.
        reason: Why all of it is Python; None if it is not.
        closed: Values of names that only its function can access.
        numbers: The numbers that its function takes as tensors.
        changes: Names that change between its iterations, if it is a loop.
        results: The largest number of tensors that one of its traces returns.
    """

    def __init__(self, statements: Sequence[Statement], label: str) -> None:
        self.statements = tuple(statements)
        self.reads, self.writes = names_of(self.nodes)
        self.label = label
        self.function: TracedFunction | None = None
        self.times = SegmentTimes()
        self.first_cause = Cause("first_trace", "first run")
        self.draws = False
        self.reason: str | None = None
        self.changes: tuple[str, ...] = ()
        self.results = 0
        self.closed: Mapping[str, Any] = {}
        self._parameters: tuple[str, ...] = ()
        self._arrays: tuple[str, ...] = ()
        self._recipes: weakref.WeakKeyDictionary[Trace, Recipe] = weakref.WeakKeyDictionary()
        self.numbers = Numbers()
        self._contract: OutputContract | None = None

    @property
    def nodes(self) -> list[ast.stmt]:
        """The statements of its function."""
        return [each.node for each in self.statements]

    @property
    def lines(self) -> tuple[int, int]:
        """Its first and last line."""
        return self.statements[0].lines[0], self.statements[-1].lines[-1]

    # Runs ---------------------------------------------------------------------------------

    def run(self, namespace: Mapping[str, Any]) -> dict[str, Any] | None:
        """Runs the trace that serves the current values of the names.

        Args:
            namespace: The namespace of the cell.

        Returns:
            The names that it writes, with their values; None if no trace serves.

        Raises:
            NotKeptError: If the graph failed without having written anything.
            Exception: The error of a graph that may have written.
        """
        __tracebackhide__ = True
        traced = self.function
        if traced is None or any(name not in namespace for name in self._parameters):
            return None
        arguments = {name: namespace[name] for name in self._parameters}
        try:
            inputs = self.numbers.converted(arguments)
            trace = self._trace_for(traced, arguments, inputs)
        except NbfnError:
            raise
        # An error of the user's code, too: as Python, the statements raise it themselves.
        except Exception as error:
            self.reason = reason_of_error(error)
            return None
        if trace is None:
            return None
        try:
            with _tensorflow.WithoutOptimizations():
                results = traced(*inputs)
            return self._recipes[trace].values(results, arguments)
        except NbfnError:
            raise
        except Exception as error:
            if _tensorflow.may_have_written(trace.graph, error):
                raise
            raise NotKeptError(reason_of_error(error, "fails as a graph")) from error

    def _trace_for(
        self, traced: TracedFunction, arguments: Mapping[str, Any], inputs: Sequence[Any]
    ) -> Trace | None:
        if _arrays(arguments) != self._arrays:  # TensorFlow keys arrays like tensors
            return None
        trace = traced.serving(inputs)
        if trace is None and traced.traces and traced.recorder.refuses_retraces():
            traced(*inputs)  # raises
        return trace if trace in self._recipes else None

    # Traces -------------------------------------------------------------------------------

    def learn(
        self,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        surroundings: Surroundings,
    ) -> bool:
        """Traces the segment for the values of the names before Python ran it.

        Args:
            before: Values of the names that it reads, before the run.
            after: Values of the names that it writes, after the run.
            surroundings: The environment in which its function is made.

        Returns:
            False if there was such a trace.

        Raises:
            NotKeptError: If the trace would give a name another value than Python did.
            Exception: Whatever tracing raises.
        """
        arguments = {n: before[n] for n in self.reads if n in before and is_argument(before[n])}
        for name in self.reads:
            if name in self.writes and name in before and name not in arguments:
                raise NotKeptError(f"reads the object `{name}` and replaces it", name)
            if attributes_of(before.get(name)):  # it is no argument: each would need a trace
                raise NotKeptError(f"reads `{name}`, on which Keras keeps more than its value")
        self.numbers.note(arguments, self.nodes, {**before, **after})
        if self.numbers.most_values() > _MAX_VALUES:
            raise NotKeptError("has a number that changes at every run")
        parameters, arrays = tuple(arguments), _arrays(arguments)
        traced = self.function
        if traced is None or (self._parameters, self._arrays) != (parameters, arrays):
            traced = self.function = self._made(parameters, surroundings)
            self._parameters, self._arrays = parameters, arrays
            self._recipes.clear()
        nodes = [each.node for each in self.statements]
        code = traced.python_function.__code__
        inspector = inspector_of(nodes, code, surroundings.namespace, before, self.writes)
        if not inspector.reads.isdisjoint(self.changes):
            raise NotKeptError("calls a function that reads a name written here")
        try:
            return self._trace(traced, arguments, after, inspector)
        except StoppedTraceError as stopped:
            raise NotKeptError(stopped.reason, line=stopped.line) from None
        except EvictedError:
            return True  # by another thread, which is learning, too
        finally:
            self._contract = None
            for trace in traced.traces:
                if trace not in self._recipes:
                    # Its values were not accepted, so it must serve no later run.
                    traced.evict(trace)
            traced.evict_unusable(has_traced=True)

    def _trace(
        self,
        traced: TracedFunction,
        arguments: Mapping[str, Any],
        after: Mapping[str, Any],
        inspector: CallInspector,
    ) -> bool:
        trace: Trace | None = None
        is_made = False
        while not is_made:
            contract = self._contract = OutputContract(after, arguments)
            inputs = self.numbers.converted(arguments)
            older = traced.serving(inputs)
            # A direct call or relax() may have made it.
            if older is not None and older not in self._recipes:
                inputs = older.concrete_function.structured_input_signature[0]
                traced.evict(older)
            try:
                with _suppressed_output() as printed, inspector.inspecting():
                    trace = traced.trace_eager_call(inputs, self._cause_of_numbers(traced, inputs))
                is_made = True
            except NbfnError:
                raise
            except Exception:  # TensorFlow's, or `NotKeptError`: another dtype may do
                if not self.numbers.try_next_dtype():
                    raise
        if trace is None or contract.recipe is None:  # it stays eager, or the trace exists
            return trace is None
        graph = trace.graph
        if printed.getvalue():
            raise NotKeptError("prints")
        if not {op.type for op in graph.get_operations()} - _IDLE:
            raise NotKeptError("has no operation")
        if not _tensorflow.has_boolean_conditions(graph):
            raise NotKeptError("needs the value of a tensor")
        if _tensorflow.stateful_random_operations(graph):
            line = _tensorflow.line_of_random_draw(graph, traced.python_function.__code__)
            if line is not None:
                raise NotKeptError("draws random numbers", line=line)
            self.draws = True
        if _tensorflow.writes(graph):
            for loop in _tensorflow.unordered_loops(graph):
                line = _tensorflow.line_within(loop, traced.python_function.__code__)
                raise NotKeptError("writes in a loop of a graph that may fail", line=line or 0)
        else:
            with _tensorflow.WithoutOptimizations():
                # Run once more, which is safe as it writes nothing.
                results = trace.concrete_function(*inputs)
            check_values(after, contract.recipe.values(results, arguments))
        self.results = max(self.results, len(contract.results))
        self._recipes[trace] = contract.recipe
        return True

    def _cause_of_numbers(self, traced: TracedFunction, inputs: Sequence[Any]) -> Cause | None:
        """Returns a cause if a Python number of all earlier traces is now a tensor."""
        keys = [trace.key.leaves for trace in traced.traces]
        names = [
            f"`{name}`"
            for name, value in zip(self._parameters, inputs, strict=True)
            if is_tensor(value) and all(isinstance(each.get(name), ValueLeaf) for each in keys)
        ]
        if not (keys and names):
            return None
        takes = "takes it" if len(names) == 1 else "takes them"
        change = "changes" if len(names) == 1 else "change"
        return Cause("first_trace", f"{join(names)} {change}, and this trace {takes} as a tensor")

    def check(self, before: Mapping[str, Any]) -> Check:
        """Compares an eager with a traced run for the values of the names before the run."""
        assert self.function is not None
        arguments = {name: before[name] for name in self._parameters}
        return self.function.check(*self.numbers.converted(arguments))

    def _made(self, parameters: tuple[str, ...], surroundings: Surroundings) -> TracedFunction:
        # Weakly, because the function is an attribute of the segment.
        own = weakref.ref(self)

        def begin(symbols: Mapping[str, Any]) -> None:
            segment = own()
            if segment is not None and segment._contract is not None:
                segment._contract.begin(symbols)

        def keep(values: Mapping[str, Any]) -> dict[str, Any]:
            segment = own()
            if segment is None or segment._contract is None:  # a direct call
                return {
                    RESULT_NAME if n == RESULT else n: v for n, v in values.items() if is_tensor(v)
                }
            return segment._contract.keep(values)

        name = re.sub(r"\W", "_", self.label)
        step = function_of(
            self.nodes, name, parameters, self.writes, begin, keep, surroundings, self.closed
        )
        # Not converted itself, as branches and loops are Python's: `_Calls` converts what it calls.
        options = {k: v for k, v in surroundings.options.items() if k != "autograph"}
        traced: TracedFunction = function(step, autograph=False, **options)
        traced.recorder.name, traced.recorder.warns = self.label, False
        traced.known_as, traced.checked_effects = None, True
        traced.recorder.first_cause = self.first_cause
        traced.recorder.relaxing = surroundings.relaxing
        return traced


def reason_of_error(error: BaseException, what: str = "cannot be traced") -> str:
    """Describes an error as the reason for a segment to be Python."""
    text = " ".join(str(error).split())
    # "Using a symbolic `tf.Tensor` as a Python `bool`", or "Iterating over a symbolic `tf.Tensor`"
    # (TensorFlow 2.21).
    if type(error).__name__ == "OperatorNotAllowedInGraphError":
        return "needs the value of a tensor" if "bool" in text else "iterates over a tensor"
    return f"{what}: {type(error).__name__}: {text[:120]}"


def is_argument(value: Any, depth: int = 4) -> bool:
    """Returns whether a value is a tensor, array or plain value, or a nest of these."""
    if isinstance(value, _LITERALS) or type(value) is np.ndarray:
        return True
    if is_tensor(value):
        return not (is_variable(value) or attributes_of(value))
    named = isinstance(value, tuple) and hasattr(value, "_fields")
    if depth and (type(value) in (list, tuple, dict) or named):
        items = list(value.values()) if isinstance(value, dict) else list(value)
        return 0 < len(items) <= _MAX_ITEMS and all(is_argument(v, depth - 1) for v in items)
    return False


def _arrays(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names of the arguments that are or contain NumPy arrays."""
    return tuple(name for name, value in arguments.items() if _is_array(value))


def _is_array(value: Any) -> bool:
    if isinstance(value, list | tuple | dict):
        return any(map(_is_array, value.values() if isinstance(value, dict) else value))
    return isinstance(value, np.ndarray | np.generic)


@contextlib.contextmanager
def _suppressed_output() -> Iterator[io.StringIO]:
    """Suppresses what this thread prints and warns of: Python has run and shown it already.

    Output of other threads passes.
    """
    thread, printed, is_over = threading.get_ident(), io.StringIO(), False
    stdout, show = sys.stdout, warnings.showwarning

    def is_other(_: Any = None) -> bool:
        return is_over or threading.get_ident() != thread

    def show_others(message: Warning | str, *others: Any, **keywords: Any) -> None:
        if is_other() or isinstance(message, NbfnWarning):
            show(message, *others, **keywords)

    logger = logging.getLogger("tensorflow")  # AutoGraph writes its warnings to it, too
    logger.addFilter(is_other)
    divided = _ThreadFilteredStream(stdout, printed, is_other)
    sys.stdout, warnings.showwarning = divided, show_others
    try:
        yield printed
    finally:
        is_over = True
        # Another thread may have put its own above these, which then pass on everything.
        if sys.stdout is divided:
            sys.stdout = stdout
        if warnings.showwarning is show_others:
            warnings.showwarning = show
        logger.removeFilter(is_other)


class _ThreadFilteredStream:
    """A stream that diverts the output of one thread."""

    def __init__(self, stream: Any, own: io.StringIO, is_other: Callable[[], bool]) -> None:
        self._stream, self._own, self._is_other = stream, own, is_other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream if self._is_other() else self._own, name)
