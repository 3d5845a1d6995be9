"""`wrap_function`: wraps TensorFlow 1.x code as a function that owns its variables.

RFC "Functions, not Sessions", section "Transitioning from 1.x".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from nbfn import _tensorflow
from nbfn.errors import NbfnError
from nbfn.functions.calls.record import Record, RecordView, next_id
from nbfn.functions.graphs.wrap_signature import FixedSignature, fixed_signature
from nbfn.functions.recording.registry import register
from nbfn.functions.traces.cause import Cause
from nbfn.functions.traces.variable_names import roots, unique_name
from nbfn.site import call_site
from nbfn.state.values.introspection import reference_to
from nbfn.text import count, parameters_text, with_article

if TYPE_CHECKING:
    from nbfn.functions.traced.traced_function import TracedFunction


class WrapError(NbfnError, TypeError):
    """TensorFlow 1.x code cannot be wrapped, or called, as requested."""


def wrap_function(
    func: Callable[..., Any], signature: Any = (), *python_values: Any
) -> WrappedFunction:
    """Traces TensorFlow 1.x code once, as a function that owns its variables.

    Unlike `nbfn.function` it traces exactly once, provides collections and
    ``tf.compat.v1.get_variable``, keeps the variables that the code creates alive, and adds no
    control dependencies: an operation runs only if an output needs it, or if it is returned itself,
    as ``sess.run(train_op)`` runs it; it gives None.

    RFC "Functions, not Sessions", section "Transitioning from 1.x".

    Args:
        func: The code: a Python function of tensors and Python values.
        signature: For each parameter a ``tf.TensorSpec``, the short form ``(dtype, shape)``, a
            nested structure of them, or a Python value; one of them alone, or a list.
        *python_values: Values of the remaining parameters.

    Returns:
        The function. It is called with the tensors only; the Python values are fixed.

    Raises:
        WrapError: If `func` cannot be called, or does not have these parameters.
    """
    if not callable(func):
        raise WrapError(f"expected a function to wrap, found {with_article(type(func).__name__)}")
    items = list(signature) if isinstance(signature, list) else [signature]
    if signature == ():
        items = []
    try:
        fixed = fixed_signature(func, [*items, *python_values])
    except TypeError as error:
        name = getattr(func, "__name__", repr(func))
        raise WrapError(
            f"`{name}` cannot be wrapped with this signature: {error}; give one specification or "
            "value for each parameter"
        ) from None
    return WrappedFunction(func, fixed)


class WrappedFunction(RecordView, tf.Module):  # type: ignore[misc]
    """The function that `wrap_function` returns: one graph, and the variables that it owns.

    It is a ``tf.Module`` that tracks these variables, so checkpoints and SavedModels find them.

    Attributes:
        concrete_function: TensorFlow's ``ConcreteFunction``.
        id: Unique in this process.
        site: Where it was wrapped.
        recorder: The record of its calls.
    """

    def __init__(self, func: Callable[..., Any], signature: FixedSignature) -> None:
        label = getattr(func, "__name__", type(func).__name__)
        super().__init__(name=label if label.isidentifier() else None)
        self.id = next_id("observed")
        self.site = call_site()
        self.parameters = parameters_text(func)
        self._signature = signature
        self._python_function = reference_to(func) or (lambda: None)
        started = time.perf_counter()
        concrete = _wrap(func, signature)
        seconds = time.perf_counter() - started
        self.concrete_function = concrete
        setattr(self, "__call__", concrete)  # noqa: B010, so that what is loaded can be called
        self._owned = list(_tensorflow.owned_variables(concrete))
        self.recorder = Record(label)
        cause = Cause("first_trace", "wrapped: traced once, and never again")
        self.recorder.add_trace(concrete, signature.key, cause, self.site, seconds, roots(func))
        register(self)

    @property
    def python_function(self) -> Any:
        """The wrapped Python function; None if garbage-collected, as it is no longer needed."""
        return self._python_function()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph.

        Args:
            *args: A value for each parameter that was given a specification.
            **kwargs: The same by name.

        Raises:
            WrapError: If the arguments do not fit the specifications.
        """
        try:
            tensors = self._signature.tensors(args, kwargs)
        except TypeError as error:
            raise WrapError(f"`{self.label}` was called with wrong arguments: {error}") from None
        started = time.perf_counter()
        try:
            return self.concrete_function(*tensors)
        finally:
            seconds = time.perf_counter() - started
            self.recorder.add_call(self.recorder.last_trace, seconds, hit=True)

    @property
    def graph(self) -> tf.Graph:
        """The graph, with its collections."""
        return self.concrete_function.graph

    @property
    def variables(self) -> tuple[tf.Variable, ...]:
        """The variables that the code created, in order; kept alive by this object."""
        return tuple(self._owned)

    @property
    def trainable_variables(self) -> tuple[tf.Variable, ...]:
        """The trainable ones of `variables`."""
        return tuple(variable for variable in self._owned if variable.trainable)

    def named_variables(self) -> dict[str, tf.Variable]:
        """Returns the variables by the names that the code gave them, such as ``"net/w1"``."""
        used: set[str] = set()
        return {unique_name(each.name.partition(":")[0], used): each for each in self._owned}

    def carve(self, inputs: Any, outputs: Any, prune: bool = False) -> TracedFunction:
        """Makes a function of the part of the graph between some tensors; see `Trace.carve`."""
        return self.traces[0].carve(inputs, outputs, prune)

    def __repr__(self) -> str:
        numbers = f"{count(self.calls, 'call')}, {count(len(self._owned), 'variable')}"
        return f"<nbfn.wrap_function {self.label}{self.parameters}: {numbers}>"


def _fetched(value: Any) -> Any:
    """Returns a tensor that the code returns; None for an operation, which each call runs."""
    if not isinstance(value, tf.Operation):
        return value
    _tensorflow.run_at_each_call(value)
    return None


def _wrap(func: Callable[..., Any], signature: FixedSignature) -> Any:
    """Calls TensorFlow's ``wrap_function``, without keeping the Python function alive."""
    # By `pop`, so that what TensorFlow keeps of `traced` does not refer to the code afterwards.
    once = [func]

    def traced(*tensors: Any) -> Any:
        return tf.nest.map_structure(_fetched, once.pop()(*signature.arguments(tensors)))

    concrete = tf.compat.v1.wrap_function(traced, signature.specs)
    _initialize_tables(concrete)
    return concrete


def _initialize_tables(concrete: Any) -> None:
    for each in concrete.graph.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS):
        try:
            initialize = concrete.prune([], each)
        except Exception:  # it needs an argument, so only the code can run it
            continue
        initialize()
