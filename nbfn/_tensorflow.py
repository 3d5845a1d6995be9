"""The only file that names a TensorFlow internal.

Each internal is probed once. Where one is missing, the function that needs it answers ``None`` or
``False`` (its docstring says which), the caller falls back to public API, and `degraded` says so
once.
"""

from __future__ import annotations

import functools
import math
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import tensorflow as tf

from nbfn.errors import NbfnWarning

try:
    from tensorflow.python.eager import context as _context
except ImportError:
    _context = None

try:
    from tensorflow.python.eager.polymorphic_function import (
        function_type_utils as _function_type_utils,
    )
except ImportError:
    _function_type_utils = None

try:
    from tensorflow.python.util import traceback_utils as _traceback_utils
except ImportError:
    _traceback_utils = None

try:
    from tensorflow.python.saved_model import save_context as _save_context
except ImportError:
    _save_context = None

Function: type = type(tf.function(lambda: None))
"""The class of what ``tf.function`` returns."""


@functools.cache
def degraded(what: str) -> None:
    """Warns, once for each text, that this TensorFlow lacks an internal that nbfn reads."""
    warnings.warn(
        f"TensorFlow {tf.__version__} does not offer what nbfn needs to show {what}; "
        "results are the same, but you will see less.",
        NbfnWarning,
        stacklevel=3,
    )


# The trace cache --------------------------------------------------------------------------


class CacheObserver(Protocol):
    """What is told of the look-ups in one function's trace cache, on the calling thread."""

    def found(self, concrete: Any) -> None:
        """A look-up found this trace."""

    def missed(self, function_type: Any) -> None:
        """A look-up found nothing; a trace for this type is made next."""

    def added(self, concrete: Any) -> None:
        """A new trace is in the cache."""


def _cache_class() -> type | None:
    cache = getattr(tf.function(lambda: None), "_function_cache", None)
    needed = ("lookup", "add", "delete", "generalize", "values", "clear", "_primary")
    if cache is None or not all(hasattr(cache, name) for name in needed):
        return None
    return type(cache)


_Cache: Any = _cache_class() or object


class ObservedCache(_Cache):
    """A trace cache that tells an observer, and that keys Python values by type as well.

    TensorFlow compares Python arguments with ``==``, so ``1``, ``1.0`` and ``True`` share a trace,
    and an object with a permissive ``__eq__`` gets another's. Here the context part of the key also
    holds the type of each Python value and the identity of each object.
    """

    def __init__(self, observer: CacheObserver) -> None:
        super().__init__()
        self._observer = observer

    def lookup(self, function_type: Any, context: Any = None) -> Any:
        context = _strict(context, function_type)
        found = super().lookup(function_type, context)
        if found is None and saving():
            found = self._lookup_unnamed(function_type, context)
        if found is None:
            self._observer.missed(function_type)
        else:
            self._observer.found(found)
        return found

    def _lookup_unnamed(self, function_type: Any, context: Any) -> Any:
        """Looks up a trace whose specifications differ in their names only.

        A SavedModel asks for traces by specifications that carry the parameters' names, and so
        would run the user's Python again.
        """
        wanted = _without_names(function_type)
        for (known, candidate), concrete in self._primary.items():
            if known == context and _without_names(candidate) == wanted:
                return concrete
        return None

    def add(self, fn: Any, context: Any = None) -> None:
        super().add(fn, _strict(context, fn.function_type))
        self._observer.added(fn)

    def delete(self, function_type: Any, context: Any = None) -> bool:
        return bool(super().delete(function_type, _strict(context, function_type)))

    def generalize(self, context: Any, function_type: Any) -> Any:
        return super().generalize(_strict(context, function_type), function_type)

    def discard(self, concrete: Any) -> bool:
        """Takes one trace out; answers whether it was there."""
        for (context, function_type), value in list(self._primary.items()):
            if value is concrete:
                return bool(super().delete(function_type, context))
        return False


def _without_names(function_type: Any) -> list[Any]:
    return [(name, _unnamed(node)) for name, node in parameters(function_type)]


def _unnamed(node: Any) -> Any:
    if isinstance(node, Container):
        return node.kind, [(suffix, _unnamed(child)) for suffix, child in node.children.items()]
    if isinstance(node, Tensor) and isinstance(node.spec, tf.TensorSpec):
        return tf.TensorSpec(node.spec.shape, node.spec.dtype)
    if isinstance(node, Value):
        return type(node.value), node.value
    return node.reference() if isinstance(node, Object) else node


def _strict(context: Any, function_type: Any) -> Any:
    context = _outside_saving(context)
    types = tuple(_value_types(function_type))
    if not types or not hasattr(context, "_replace"):
        return context
    return context._replace(context=(context.context, types))


def _outside_saving(context: Any) -> Any:
    """The context without a save option that asks for nothing.

    While a SavedModel is written, TensorFlow keys traces by the policy for variables as well, and
    so runs the user's Python again although the default policy changes nothing.
    """
    eager: Any = getattr(context, "context", None)
    policy = getattr(eager, "variable_policy", None)
    if policy is None or getattr(policy, "value", policy) is not None:
        return context
    return context._replace(context=eager._replace(variable_policy=None))


def _value_types(function_type: Any) -> Iterator[Any]:
    for _, node in parameters(function_type):
        stack = [node]
        while stack:
            node = stack.pop()
            if isinstance(node, Value):
                yield type(node.value)
                if node.value == 0 and isinstance(node.value, float):
                    yield math.copysign(1.0, node.value)
            elif isinstance(node, Object):
                yield id(node.reference())
            elif isinstance(node, Container):
                stack.extend(node.children.values())


def observe(function: Any, observer: CacheObserver) -> bool:
    """Puts an observed trace cache into a function that has no trace yet.

    Returns:
        Whether it is observed. If not, only public API can tell what was traced.
    """
    if _Cache is object:
        degraded("which trace serves a call")
        return False
    if len(function._function_cache):
        return False
    function._function_cache = ObservedCache(observer)
    return True


def discard(function: Any, concrete: Any) -> bool:
    """Takes one trace out of an observed function's cache; answers whether it was there."""
    cache = getattr(function, "_function_cache", None)
    if getattr(function, "_concrete_variable_creation_fn", None) is concrete:
        function._concrete_variable_creation_fn = None
    return isinstance(cache, ObservedCache) and cache.discard(concrete)


def concrete_functions(function: Any) -> list[Any]:
    """The traces in a function's cache, oldest first; empty where they cannot be read."""
    cache: Any = getattr(function, "_function_cache", None)
    return list(cache.values()) if hasattr(cache, "values") else []


def mute_tracing_warning(function: Any) -> None:
    """Keeps TensorFlow's own frequent-retracing warning quiet for one function."""
    if hasattr(function, "_omit_frequent_tracing_warning"):
        function._omit_frequent_tracing_warning = True


_INITIALIZATION = (
    "_created_variables",
    "_variable_creation_config",
    "_no_variable_creation_config",
)


def initialization(function: Any) -> dict[str, Any] | None:
    """The state of a function's first call, for `restore_initialization`; None once it is done."""
    state = {name: getattr(function, name, None) for name in _INITIALIZATION}
    return state if state["_variable_creation_config"] is None else None


def restore_initialization(function: Any, state: dict[str, Any]) -> None:
    """Makes a function whose first trace failed as good as one that was never called."""
    for name, value in state.items():
        if hasattr(function, name):
            setattr(function, name, value)


def saving() -> bool:
    """Whether a SavedModel is being written on this thread; False where that cannot be told."""
    return bool(_save_context is not None and _save_context.in_save_context())


# Calls ------------------------------------------------------------------------------------

EagerTensor: type = type(tf.constant(0))
"""The class of eager tensors."""

_HANDLES = frozenset(
    {tf.resource, tf.variant, tf.resource.as_datatype_enum, tf.variant.as_datatype_enum}
)


def is_plain_eager() -> bool:
    """Whether calls run eagerly, outside every strategy, and nothing is being saved."""
    return (
        tf.executing_eagerly()
        and not tf.distribute.has_strategy()
        and not tf.config.functions_run_eagerly()
        and not saving()
    )


def _cheap_tensor_key(tensor: Any) -> Any:
    dtype = tensor._datatype_enum()
    return None if dtype in _HANDLES else (dtype, tensor._shape_tuple())


def _public_tensor_key(tensor: Any) -> Any:
    return None if tensor.dtype in _HANDLES else (tensor.dtype, tuple(tensor.shape))


tensor_key: Callable[[Any], Any] = (
    _cheap_tensor_key
    if hasattr(EagerTensor, "_datatype_enum") and hasattr(EagerTensor, "_shape_tuple")
    else _public_tensor_key
)
"""Dtype and shape of an eager tensor, hashable; None for handles of resources and variants."""


def flat_inputs(function: Any, concrete: Any, args: Any, kwargs: Any) -> list[Any] | None:
    """The tensors that a call feeds to a concrete function; None where that cannot be told."""
    if _function_type_utils is None or not hasattr(concrete, "_call_flat"):
        return None
    try:
        bound = _function_type_utils.canonicalize_function_inputs(
            args, kwargs, function._function_type, function._default_values, function._is_pure
        )
        own = concrete.function_type
        return list(own.unpack_inputs(own.bind(*bound.args, **bound.kwargs)))
    except (AttributeError, TypeError, ValueError):
        return None


def call_flat(concrete: Any, inputs: list[Any]) -> Any:
    """Runs a concrete function on the tensors that `flat_inputs` gave, or others like them."""
    return concrete._call_flat(inputs, concrete.captured_inputs)


if _traceback_utils is not None:
    call_flat = _traceback_utils.filter_traceback(call_flat)


# Trace types ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """A leaf keyed by dtype and shape, or another type specification."""

    spec: Any


@dataclass(frozen=True)
class Value:
    """A leaf keyed by a Python value."""

    value: Any


@dataclass(frozen=True)
class Object:
    """A leaf keyed by an object's identity, held weakly."""

    reference: Callable[[], Any]


@dataclass(frozen=True)
class Container:
    """A nested structure: its kind, and its children by the suffix of their path."""

    kind: str
    children: dict[str, Any]


def unfold(trace_type: Any) -> Tensor | Value | Object | Container:
    """A trace type as a plain tree; what is not recognised is a `Tensor` of itself."""
    if isinstance(trace_type, tf.TypeSpec):
        return Tensor(trace_type)
    kind = type(trace_type).__name__
    if kind == "Literal" and hasattr(trace_type, "value"):
        return Value(trace_type.value)
    if kind == "Weakref" and isinstance(getattr(trace_type, "_ref", None), weakref.ref):
        return Object(trace_type._ref)
    if kind == "Tuple" and hasattr(trace_type, "components"):
        return _sequence("tuple", trace_type.components)
    if kind == "List" and hasattr(trace_type, "components_tuple"):
        return _sequence("list", trace_type.components_tuple.components)
    if kind == "Dict" and hasattr(trace_type, "mapping"):
        children = {f"[{key!r}]": unfold(item) for key, item in trace_type.mapping.items()}
        return Container("dict", children)
    if kind == "Attrs" and hasattr(trace_type, "named_attributes"):
        return unfold(trace_type.named_attributes)
    if kind == "NamedTuple" and hasattr(trace_type, "attribute_names"):
        names = trace_type.attribute_names
        items = trace_type.attributes.components
        return Container(
            trace_type.type_name,
            {f".{name}": unfold(item) for name, item in zip(names, items, strict=True)},
        )
    return Tensor(trace_type)


def _sequence(kind: str, items: Any) -> Container:
    return Container(kind, {f"[{i}]": unfold(item) for i, item in enumerate(items)})


def parameters(function_type: Any) -> Iterator[tuple[str, Tensor | Value | Object | Container]]:
    """The parameters of a function type, each with its unfolded trace type."""
    for name, parameter in function_type.parameters.items():
        constraint = getattr(parameter, "type_constraint", None)
        if constraint is not None:
            yield name, unfold(constraint)


# Runs -------------------------------------------------------------------------------------


def run_collecting(call: Callable[[], Any]) -> tuple[Any, Any]:
    """Makes a call and collects its ``RunMetadata``; None for that where it cannot be collected.

    Partition graphs are collected the first time that a function runs only.
    """
    collector: Any = _context.context() if _context is not None else None
    needed = ("enable_graph_collection", "enable_run_metadata", "export_run_metadata")
    if not all(hasattr(collector, name) for name in needed):
        degraded("on which device operations run")
        return call(), None
    collector.enable_graph_collection()
    collector.enable_run_metadata()
    try:
        result = call()
        return result, collector.export_run_metadata()
    finally:
        collector.disable_run_metadata()
        collector.disable_graph_collection()


# Captures ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Captured:
    """One outside tensor that a graph reads: its handle, and the variable behind it if any."""

    handle: Any
    variable: Any | None


def captured(concrete: Any) -> list[Captured]:
    """What a trace captured, in the order of first use."""
    variables = {id(variable.handle): variable for variable in concrete.graph.variables}
    return [Captured(h, variables.get(id(h))) for h in concrete.captured_inputs]


def _operation_types(graph: Any) -> set[str]:
    definition = graph.as_graph_def()
    nested = {node.op for function in definition.library.function for node in function.node_def}
    return nested | {node.op for node in definition.node}


def stateful_random_operations(graph: Any) -> list[str]:
    """Types of a graph's operations, in nested functions too, that draw from hidden state."""
    return sorted(_operation_types(graph) & _HIDDEN_STATE)


def changing_resource_operations(graph: Any) -> list[str]:
    """Types of a graph's operations that change resources other than variables, such as tables."""
    return sorted(op for op in _operation_types(graph) if op.startswith(_CHANGING))


_CHANGING = (
    *("LookupTableInsert", "LookupTableImport", "LookupTableRemove"),
    *("QueueEnqueue", "QueueDequeue", "StackPush", "StackPop", "Barrier", "Accumulator"),
    *("IteratorGetNext", "WriteFile", "WriteSummary", "WriteScalarSummary"),
)

_HIDDEN_STATE = {
    "Multinomial",
    "ParameterizedTruncatedNormal",
    "RandomGamma",
    "RandomPoisson",
    "RandomPoissonV2",
    "RandomShuffle",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "TruncatedNormal",
}


def trackable_children(value: Any) -> dict[str, Any]:
    """The tracked children of a trackable object by name; empty where they cannot be read."""
    read = getattr(value, "_trackable_children", None)
    if read is None or isinstance(value, Function):
        return {}
    try:
        return dict(read())
    except Exception:  # a user's class may do anything here, and naming must not fail
        return {}
