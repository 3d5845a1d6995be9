"""Calls of concrete functions: cheap keys, flat inputs, and direct execution."""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from nbfn._tensorflow.base import internal, saving
from nbfn._tensorflow.tracing.hot_functions import HotFunction
from nbfn._tensorflow.tracing.tracing import explicit_device

_context = internal("eager.context")
_cancellation = internal("eager.cancellation", "context")
_execute = internal("eager.execute", "execute", "execute_with_cancellation")
_record = internal("eager.record", "could_possibly_record")
_atomic = internal("eager.polymorphic_function.atomic_function", "InterpolateRuntimeError")
_concrete = getattr(
    internal("eager.polymorphic_function.concrete_function"), "ConcreteFunction", None
)
_gradients = internal(
    "ops.gradients_util", "PossibleTapeGradientTypes", "POSSIBLE_GRADIENT_TYPES_NONE"
)
_variables = internal("ops.resource_variable_ops", "variable_accessed")
_run_eagerly = internal("eager.polymorphic_function.eager_function_run")
_function_type_utils = internal("eager.polymorphic_function.function_type_utils")
_ops = internal("framework.ops")
_traceback_utils = internal("util.traceback_utils")

EagerTensor: type = getattr(_ops, "EagerTensor", None) or type(tf.constant(0))
"""The class of eager tensors, without making one, which would initialise the devices."""

# Handles have no cheap key: TensorFlow's key also has the dtypes and shapes behind them
# (`Tensor.__tf_tracing_type__`, TensorFlow 2.21).
# As DTypes and as their enums: `_public_tensor_key` has the one, `_cheap_tensor_key` the other.
_HANDLES = frozenset(
    {tf.resource, tf.variant, tf.resource.as_datatype_enum, tf.variant.as_datatype_enum}
)


_composite = getattr(internal("framework.composite_tensor"), "CompositeTensor", None)
_COMPOSITES = (tf.SparseTensor, tf.RaggedTensor, tf.IndexedSlices, tf.data.Iterator)

Iterator: type | None = getattr(internal("data.ops.iterator_ops"), "OwnedIterator", None)
"""The class of eager dataset iterators; None if their parts cannot be read."""
if not hasattr(Iterator, "_type_spec"):
    Iterator = None


def is_composite(value: Any) -> bool:
    """Returns whether a value is composed of tensors: sparse, ragged, an iterator, ..."""
    return isinstance(value, _COMPOSITES if _composite is None else _composite)


def iterator_parts(iterator: Any) -> tuple[Any, Any] | None:
    """Returns the spec of an `Iterator` and the tensor that represents it in graphs."""
    resource = getattr(iterator, "_iterator_resource", None)
    return None if resource is None else (iterator._type_spec, resource)


def _cheap_tensor_key(tensor: Any) -> Any:
    dtype = tensor._datatype_enum()
    return None if dtype in _HANDLES else (dtype, tensor._shape_tuple())


def _public_tensor_key(tensor: Any) -> Any:
    return None if tensor.dtype in _HANDLES else (tensor.dtype, tuple(tensor.shape))


# Each hit makes one for each tensor; that from the public attributes takes three times as long
# (TensorFlow 2.21).
tensor_key: Callable[[Any], Any] = (
    _cheap_tensor_key
    if hasattr(EagerTensor, "_datatype_enum") and hasattr(EagerTensor, "_shape_tuple")
    else _public_tensor_key
)
"""Dtype and shape of an eager tensor, hashable; None for handles of resources and variants."""


def tensor_keys(values: Iterable[Any]) -> list[Any] | None:
    """Returns the `tensor_key` of each value; None unless all are eager tensors with a key."""
    keys = []
    for value in values:
        if type(value) is not EagerTensor:
            return None
        key = tensor_key(value)
        if key is None:
            return None
        keys.append(key)
    return keys


def _public_plain_eager_device() -> str | None:
    is_plain = (
        tf.executing_eagerly()
        and not tf.distribute.has_strategy()
        and not tf.config.functions_run_eagerly()
        and not saving()
    )
    return explicit_device() if is_plain else None


def _quick_plain_eager_device() -> str | None:
    # Each hit needs this: it reads what the public functions above read (TensorFlow 2.21).
    here = _context.context()._thread_local_data
    if (
        not here.is_eager
        or _ops.get_default_graph()._distribution_strategy_stack
        or _run_eagerly.RUN_FUNCTIONS_EAGERLY
        or saving()
    ):
        return None
    return here.device_name or ""


def _has_quick_device() -> bool:
    try:
        _quick_plain_eager_device()
    except (AttributeError, TypeError):
        return False
    return True


plain_eager_device: Callable[[], str | None] = (
    _quick_plain_eager_device if _has_quick_device() else _public_plain_eager_device
)
"""Returns the requested device, or an empty text; None in graphs, under strategies, while something
is saved, and where functions run eagerly."""


def calls_back() -> bool:
    """Returns whether callbacks for eagerly executed operations are registered."""
    return bool(getattr(_context.context(), "op_callbacks", ())) if _context else False


def canonical(function: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the arguments of a call in parameter order, with defaults.

    Raises:
        TypeError: If they do not match the parameters.
    """
    if _function_type_utils is None:
        return tuple(args), dict(kwargs)
    bound = _function_type_utils.canonicalize_function_inputs(
        args, kwargs, function._function_type, function._default_values, function._is_pure
    )
    return tuple(bound.args), dict(bound.kwargs)


def parameter_names(function: Any) -> list[str]:
    """Returns the names of a function's parameters."""
    function_type = getattr(function, "_function_type", None)
    return list(function_type.parameters) if function_type is not None else []


def shapes_text(args: Any, kwargs: Any) -> str:
    """Returns the shapes of the tensors among the arguments as text."""
    tensors = [each for each in tf.nest.flatten((args, kwargs)) if tf.is_tensor(each)]
    return ", ".join(str(getattr(tensor, "shape", "?")) for tensor in tensors) or "no tensors"


def flat_inputs(function: Any, concrete: Any, args: Any, kwargs: Any) -> list[Any] | None:
    """Returns the input tensors of a concrete function for a call; None if unknown."""
    if _function_type_utils is None or not hasattr(concrete, "_call_flat"):
        return None
    try:
        own = concrete.function_type
        are_flat = not kwargs and len(args) == len(own.flat_inputs)
        if are_flat and all(type(each) is EagerTensor for each in args):
            return list(args)
        args, kwargs = canonical(function, args, kwargs)
        return list(own.unpack_inputs(own.bind(*args, **kwargs)))
    except (AttributeError, TypeError, ValueError):
        return None


def call_in_progress(function: Any) -> tuple[Any, dict[str, Any]] | None:
    """Returns the arguments of a call of a tf.function in progress on this thread, or None.

    They are read from the stack, because TensorFlow passes only the types to its trace cache.
    """
    # Innermost first: a function that calls itself has several such frames.
    for frame, _ in traceback.walk_stack(sys._getframe(1)):
        code = frame.f_code
        # TensorFlow 2.21 has `Function.__call__(self, *args, **kwds)`.
        if code.co_name == "__call__" and code.co_varnames[:1] == ("self",):
            names = frame.f_locals
            if names["self"] is function and isinstance(names.get("args"), tuple):
                return names["args"], dict(names.get("kwds") or {})
    return None


def flat_call(concrete: Any) -> Callable[[list[Any]], Any]:
    """Returns a callable that runs a concrete function on tensors like those of `flat_inputs`.

    It may only be called in plain eager mode. It calls the runtime directly if the internals exist.
    """
    call = concrete._call_flat
    external = getattr(concrete, "_captured_inputs", None)
    inference = getattr(concrete, "_inference_function", None)
    execute = _executor(inference) if _CAN_EXECUTE and inference is not None else None
    # A callable is a deferred capture: TensorFlow gets its value at each call.
    if execute is None or external is None or any(callable(each) for each in external):
        return _hide_frames(lambda inputs: call(inputs, concrete.captured_inputs))
    captured, pack = concrete.captured_inputs, concrete.function_type.pack_output
    recorded = _recorded_call(concrete, execute)

    def run(inputs: list[Any]) -> Any:
        try:
            if concrete._captured_inputs is not external:  # a capture was replaced
                return call(inputs, concrete.captured_inputs)
            if _record.could_possibly_record():
                return recorded(inputs + captured)
            return pack(execute(inputs + captured) or None)
        except Exception as error:  # TensorFlow's wrapper would take 5 µs of each call
            return _raise_filtered(error)

    return run


def _recorded_call(
    concrete: Any, execute: Callable[[list[Any]], list[Any]]
) -> Callable[[list[Any]], Any]:
    """Executes a concrete function for tapes and forward accumulators, without graphs.

    As `ConcreteFunction._call_flat`, but the forward function is executed directly, which takes
    two thirds of the time (TensorFlow 2.21).
    """
    pack, none = concrete.function_type.pack_output, _gradients.POSSIBLE_GRADIENT_TYPES_NONE
    # TensorFlow makes a forward function for each kind of tape and order of gradient.
    executors: dict[Any, Any] = {}

    def run(inputs: list[Any]) -> Any:
        # So that a tape that watches accessed variables watches those of the graph.
        for variable in concrete._func_graph.variables:
            _variables.variable_accessed(variable)
        kind = _gradients.PossibleTapeGradientTypes(inputs)
        if kind == none:
            return pack(execute(inputs) or None)
        pair = concrete._select_forward_and_backward_functions(inputs, kind, True)
        forward, passed = pair.forward()
        if forward not in executors:
            executors[forward] = _executor(forward)
        run_forward = executors[forward]
        results = forward.call_flat(*passed) if run_forward is None else run_forward(passed)
        pair.record(results)
        return pack(results)

    return run


def _executor(inference: Any) -> Callable[[list[Any]], list[Any]] | None:
    """Returns what executes an atomic function on tensors; None if its outputs need more."""
    outputs = inference.function_type.flat_outputs
    # `AtomicFunction.call_flat` attaches the shapes behind such handles (TensorFlow 2.21).
    if any(output.dtype._handle_data for output in outputs):
        return None
    name, number, context = inference.name.decode(), len(outputs), inference._bound_context
    hot = HotFunction(inference)

    def execute(inputs: list[Any]) -> list[Any]:
        # As in `Context.call_function` (TensorFlow 2.21). Options and `_execute.execute` are
        # looked up at each call: `WithoutOptimizations` changes the options, and operation
        # callbacks replace `execute`.
        options = context.function_call_options.as_attrs()
        attributes = tuple(itertools.chain(*options.items()))
        manager = _cancellation.context()
        try:
            if manager is None:
                results: list[Any] | None = hot.execute(inputs, attributes)
                if results is None:
                    results = _execute.execute(
                        name, num_outputs=number, inputs=inputs, attrs=attributes, ctx=context
                    )
            else:  # a cancelled operation would go on (TensorFlow 2.21)
                results = _execute.execute_with_cancellation(
                    name, number, inputs, attributes, context, manager
                )
        except Exception:
            # Its `__exit__` adds the lines of the user's code to the message (TensorFlow 2.21).
            with _atomic.InterpolateRuntimeError(inference):
                raise
        return results  # type: ignore[return-value]

    return execute


_CAN_EXECUTE = None not in (
    *(_atomic, _cancellation, _execute, _gradients, _record, _variables),
    getattr(_concrete, "_select_forward_and_backward_functions", None),
)


def _hide_frames(call: Callable[..., Any]) -> Callable[..., Any]:
    return call if _traceback_utils is None else _traceback_utils.filter_traceback(call)


def _raise(error: Exception) -> None:
    raise error


_raise_filtered = _hide_frames(_raise)
"""Raises an error without the frames of TensorFlow in its traceback."""


class WithoutOptimizations:
    """A context in which functions run without optimisations that change results.

    Grappler folds constants, reorders arithmetic and fuses kernels, which changes rounding, and
    drops control dependencies on operations that may raise. Does nothing if call options are
    unsupported.
    """

    _before: Any = None

    def __enter__(self) -> None:
        if not _HAS_CALL_OPTIONS:
            return
        context = _context.context()
        before = self._before = context.function_call_options
        settings = before.executor_type, before.config_proto_serialized
        options = _unoptimized_options.get(settings)
        if options is None:
            config = tf.compat.v1.ConfigProto.FromString(before.config_proto_serialized)
            rewrites = config.graph_options.rewrite_options
            off = type(rewrites).OFF
            rewrites.constant_folding = rewrites.arithmetic_optimization = off
            rewrites.remapping = rewrites.dependency_optimization = off
            unoptimized = type(before)(before.executor_type, config)
            options = _unoptimized_options[settings] = unoptimized
        context.function_call_options = options

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            _context.context().function_call_options = self._before
            self._before = None


_unoptimized_options: dict[tuple[str | None, bytes], Any] = {}
"""The options without these optimisations, by those that hold outside."""


def _has_call_options() -> bool:
    try:
        with WithoutOptimizations():
            return True
    except Exception:
        return False


_HAS_CALL_OPTIONS = True  # during the probe, without which `WithoutOptimizations` would do nothing
_HAS_CALL_OPTIONS = _has_call_options()
