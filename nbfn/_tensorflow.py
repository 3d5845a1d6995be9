"""The only file that names a TensorFlow internal.

Each internal is probed once. Where one is missing, the function that needs it answers ``None`` or
``False`` (its docstring says which), the caller falls back to public API, and `degraded` says so
once.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import os
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import tensorflow as tf

from nbfn.errors import NbfnWarning

try:
    from tensorflow.python.eager import context as _context
except ImportError:
    _context = None

try:
    from tensorflow.python.eager import cancellation as _cancellation
    from tensorflow.python.eager import execute as _execute
    from tensorflow.python.eager import record as _record
    from tensorflow.python.eager.polymorphic_function import atomic_function as _atomic
except ImportError:
    _atomic = _cancellation = _execute = _record = None

try:
    from tensorflow.python.eager.polymorphic_function import (
        eager_function_run as _run_eagerly,
    )
    from tensorflow.python.framework import ops as _ops
except ImportError:
    _ops = _run_eagerly = None

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
    from tensorflow.python.framework.ops import EagerTensor as _EagerTensor
except ImportError:
    _EagerTensor = None

try:
    from tensorflow.python.saved_model import save_context as _save_context
except ImportError:
    _save_context = None

try:
    from tensorflow.python.ops import resource_variable_ops as _resource_variables
except ImportError:
    _resource_variables = None

try:
    from tensorflow.python.ops import summary_ops_v2 as _summary_ops
except ImportError:
    _summary_ops = None

try:
    from tensorflow.python.util import tf_stack as _tf_stack
except ImportError:
    _tf_stack = None

try:
    from tensorflow.python.util import tf_decorator as _tf_decorator
except ImportError:
    _tf_decorator = None

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


def unconverted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keeps AutoGraph from converting a function; where it can be marked, calls cost nothing."""
    wrapped = tf.autograph.experimental.do_not_convert(fn)
    if not hasattr(wrapped, "autograph_info__"):
        return wrapped  # type: ignore[no-any-return]
    fn.autograph_info__ = None  # type: ignore[attr-defined]
    return fn


# The trace cache --------------------------------------------------------------------------


class CacheObserver(Protocol):
    """What is told of the look-ups in one function's trace cache, on the calling thread."""

    def implicit(self, function_type: Any) -> Any:
        """What the key holds besides the arguments; hashable."""

    def settled(self, concrete: Any) -> tuple[Any, Callable[[Any], Any] | None]:
        """The same once tracing has ended, and how the implicit parts of other keys change."""

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


class LookedUp(BaseException):
    """Ends a dry run where tracing would begin; never leaves nbfn.

    Attributes:
        concrete: What the look-up found, or None.
        function_type: What was looked up.
    """

    def __init__(self, concrete: Any, function_type: Any) -> None:
        super().__init__()
        self.concrete = concrete
        self.function_type = function_type


class DryCache(_Cache):
    """A trace cache whose look-ups can be made to end where tracing would begin."""

    def __init__(self) -> None:
        super().__init__()
        self._dry = threading.local()

    @contextmanager
    def dry(self) -> Iterator[None]:
        """Look-ups on this thread raise `LookedUp`, so that nothing is traced."""
        self._dry.on = True
        try:
            yield
        finally:
            self._dry.on = False

    def end_dry_run(self, concrete: Any, function_type: Any) -> None:
        """Raises `LookedUp` if this thread makes a dry run."""
        if getattr(self._dry, "on", False):
            raise LookedUp(concrete, function_type)


class ObservedCache(DryCache):
    """A trace cache that tells an observer, and whose keys are stricter than TensorFlow's.

    TensorFlow compares Python arguments with ``==``, so ``1``, ``1.0`` and ``True`` share a trace,
    and an object with a permissive ``__eq__`` gets another's. Here the context part of the key also
    holds the type of each Python value, the identity of each object, and what the observer says
    that the key depends on besides the arguments.
    """

    def __init__(self, observer: CacheObserver) -> None:
        super().__init__()
        self._observer = observer

    def lookup(self, function_type: Any, context: Any = None) -> Any:
        implicit = self._observer.implicit(function_type)
        context = _strict(context, function_type, implicit)
        found = super().lookup(function_type, context)
        if found is None and saving():
            found = self._lookup_unnamed(function_type, context)
        self.end_dry_run(found, function_type)
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
        implicit, renewed = self._observer.settled(fn) or (None, None)
        if renewed is not None:
            self._rekey(renewed)
        super().add(fn, _strict(context, fn.function_type, implicit))
        self._observer.added(fn)

    def delete(self, function_type: Any, context: Any = None) -> bool:
        implicit = self._observer.implicit(function_type)
        return bool(super().delete(function_type, _strict(context, function_type, implicit)))

    def generalize(self, context: Any, function_type: Any) -> Any:
        implicit = self._observer.implicit(function_type)
        return super().generalize(_strict(context, function_type, implicit), function_type)

    def _rekey(self, renewed: Callable[[Any], Any]) -> None:
        items = list(self._primary.items())
        self.clear()
        for (context, _), concrete in items:
            if hasattr(context, "_replace"):
                eager, types, old = context.context
                context = context._replace(context=(eager, types, renewed(old)))
            super().add(concrete, context)

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


def _strict(context: Any, function_type: Any, implicit: Any) -> Any:
    context = _outside_saving(context)
    if not hasattr(context, "_replace"):
        return context
    types = tuple(_value_types(function_type))
    return context._replace(context=(context.context, types, implicit))


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


# Tracing ----------------------------------------------------------------------------------

_Function: Any = Function
_Method = TypeVar("_Method", bound=Callable[..., Any])
CAN_SCOPE = _tf_decorator is not None and hasattr(Function, "_generate_tracing_options")
"""Whether `ScopedFunction` has its say in this TensorFlow."""


class ScopedFunction(_Function):  # type: ignore[misc]
    """A tf.function that has a say in how its Python is called while it is traced."""

    def within_trace(self, call: Callable[[], Any]) -> Any:
        """Calls the user's Python while it is traced, in whatever it is to be traced in."""
        return call()

    def _generate_tracing_options(self, fn: Any, scope_type: Any) -> Any:
        if not CAN_SCOPE:
            return super()._generate_tracing_options(fn, scope_type)
        owner = weakref.ref(self)
        inner: Any = None

        def scoped(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            function = owner()
            # AutoGraph puts the converted function into `__wrapped__`.
            call = functools.partial(inner().__wrapped__, *args, **kwargs)
            return call() if function is None else function.within_trace(call)

        inner = weakref.ref(scoped)
        return super()._generate_tracing_options(
            _tf_decorator.make_decorator(fn, scoped), scope_type
        )


def as_it_is(method: _Method) -> _Method:
    """Marks a function that AutoGraph must call as it is, and not convert."""
    method.autograph_info__ = {}  # type: ignore[attr-defined]
    return method


def explicit_device() -> str:
    """The device that ``with tf.device`` asks for around eager code; empty if none does."""
    eager: Any = _context.context() if _context is not None else None
    return getattr(eager, "device_name", None) or "" if tf.executing_eagerly() else ""


def look_up(function: Any, args: Any, kwargs: Any) -> LookedUp | None:
    """Looks a call up in a function's cache without tracing or running anything.

    Returns:
        What was found and what was looked up; None if the function was never traced, or is neither
        observed nor watched.

    Raises:
        TypeError: As the call would, if the arguments do not fit.
    """
    cache = getattr(function, "_function_cache", None)
    if not isinstance(cache, DryCache) or initialization(function) is not None:
        return None
    try:
        with cache.dry():
            _Function.get_concrete_function(function, *args, **kwargs)
    except LookedUp as looked_up:
        return looked_up
    return None


def holds_lock(function: Any) -> bool:
    """Whether this thread holds a function's lock; False where that cannot be told."""
    is_owned = getattr(getattr(function, "_lock", None), "_is_owned", None)
    return bool(is_owned is not None and is_owned())


def release_lock(function: Any) -> None:
    """Releases a function's lock if this thread holds it.

    TensorFlow keeps it when the arguments of a call do not fit, and other threads wait for ever.
    """
    while holds_lock(function):
        function._lock.release()


def saving() -> bool:
    """Whether a SavedModel is being written on this thread; False where that cannot be told."""
    return bool(_save_context is not None and _save_context.in_save_context())


# Calls ------------------------------------------------------------------------------------

EagerTensor: type = _EagerTensor or type(tf.constant(0))
"""The class of eager tensors. Making one would start the runtime, and fix its devices."""

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


def tensor_keys(values: Iterable[Any]) -> list[Any] | None:
    """The `tensor_key` of each value; None unless all of them are eager tensors that have one."""
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
    return explicit_device() if is_plain_eager() else None


def _quick_plain_eager_device() -> str | None:
    here = _context.context()._thread_local_data  # type: ignore[union-attr]
    if (
        not here.is_eager
        or _ops.get_default_graph()._distribution_strategy_stack  # type: ignore[union-attr]
        or _run_eagerly.RUN_FUNCTIONS_EAGERLY  # type: ignore[union-attr]
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
"""The device asked for, empty if none is; None unless calls run plainly, as `is_plain_eager`."""


def canonical(function: Any, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """The arguments of a call in the order of the parameters, defaults filled in.

    Raises:
        TypeError: If they do not fit the parameters.
    """
    if _function_type_utils is None:
        return tuple(args), dict(kwargs)
    bound = _function_type_utils.canonicalize_function_inputs(
        args, kwargs, function._function_type, function._default_values, function._is_pure
    )
    return tuple(bound.args), dict(bound.kwargs)


def parameter_names(function: Any) -> list[str]:
    """The names of a function's parameters."""
    known = getattr(function, "_function_type", None)
    return list(known.parameters) if known is not None else []


def shapes_text(args: Any, kwargs: Any) -> str:
    """The shapes of the tensors among the arguments, as text."""
    tensors = [each for each in tf.nest.flatten((args, kwargs)) if tf.is_tensor(each)]
    return ", ".join(str(getattr(tensor, "shape", "?")) for tensor in tensors) or "no tensors"


def flat_inputs(function: Any, concrete: Any, args: Any, kwargs: Any) -> list[Any] | None:
    """The tensors that a call feeds to a concrete function; None where that cannot be told."""
    if _function_type_utils is None or not hasattr(concrete, "_call_flat"):
        return None
    try:
        args, kwargs = canonical(function, args, kwargs)
        own = concrete.function_type
        return list(own.unpack_inputs(own.bind(*args, **kwargs)))
    except (AttributeError, TypeError, ValueError):
        return None


def flat_call(concrete: Any) -> Callable[[list[Any]], Any]:
    """What runs a concrete function on the tensors that `flat_inputs` gave, or others like them.

    It may be called in plain eager mode only. Where no gradient can be recorded, it goes straight
    to the runtime.
    """
    call = concrete._call_flat
    external = getattr(concrete, "_captured_inputs", None)
    if external is None or any(callable(each) for each in external):
        return _filtered(lambda inputs: call(inputs, concrete.captured_inputs))
    captured = concrete.captured_inputs
    direct = _direct_call(concrete)

    def run(inputs: list[Any]) -> Any:
        if concrete._captured_inputs is not external:  # a capture has been replaced
            return call(inputs, concrete.captured_inputs)
        if direct is None or _record.could_possibly_record():  # type: ignore[union-attr]
            return call(inputs, captured)
        return direct(inputs + captured)

    return _filtered(run)


def _direct_call(concrete: Any) -> Callable[[list[Any]], Any] | None:
    """Executes a concrete function without what serves gradients and graphs only."""
    inference = getattr(concrete, "_inference_function", None)
    if not _HAS_DIRECT_CALL or inference is None:
        return None
    function_type = inference.function_type
    outputs = function_type.flat_outputs
    if any(output.dtype._handle_data for output in outputs):
        return None
    name, number, context = inference.name.decode(), len(outputs), inference._bound_context
    pack = function_type.pack_output

    def execute(inputs: list[Any]) -> Any:
        if _cancellation.context() is not None:  # type: ignore[union-attr]
            return inference.call_preflattened(inputs)
        options = context.function_call_options.as_attrs()
        attributes = tuple(itertools.chain(*options.items()))
        try:
            results = _execute.execute(  # type: ignore[union-attr]
                name, num_outputs=number, inputs=inputs, attrs=attributes, ctx=context
            )
        except Exception:
            with _atomic.InterpolateRuntimeError(inference):  # type: ignore[union-attr]
                raise
        return pack(results or None)

    return execute


_HAS_DIRECT_CALL = (
    all(hasattr(_atomic, name) for name in ("InterpolateRuntimeError", "AtomicFunction"))
    and hasattr(_execute, "execute")
    and hasattr(_cancellation, "context")
    and hasattr(_record, "could_possibly_record")
)


def _filtered(call: Callable[..., Any]) -> Callable[..., Any]:
    return call if _traceback_utils is None else _traceback_utils.filter_traceback(call)


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


def objects(function_type: Any) -> Iterator[tuple[str, Any]]:
    """The arguments, or parts of them, that are keyed by identity and still alive, by path."""
    stack = list(parameters(function_type))
    while stack:
        path, node = stack.pop()
        if isinstance(node, Container):
            stack.extend((path + suffix, child) for suffix, child in node.children.items())
        elif isinstance(node, Object) and (target := node.reference()) is not None:
            yield path, target


def by_reference(concrete: Any) -> list[Callable[[], Any]]:
    """What a trace asks for its captures' values at each call, instead of baking them in."""
    container = getattr(concrete.graph, "function_captures", None)
    asked = list(getattr(container, "by_ref_external", {}).values())
    for each in asked:
        # TensorFlow dresses the user's function in some of its own.
        cells = getattr(each, "__closure__", None) or ()
        inner = [c.cell_contents for c in cells if callable(c.cell_contents)]
        asked += [function for function in inner if function not in asked]
    return asked


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


# Variables and summaries ------------------------------------------------------------------


_ResourceVariable: Any = getattr(_resource_variables, "BaseResourceVariable", object)


class LocalVariable(_ResourceVariable):
    """A variable that lives for one execution of the graph that creates it."""


def is_local_variable(value: Any) -> bool:
    """Whether a value is what `local_variable` creates."""
    return isinstance(value, LocalVariable)


def local_variable(**options: Any) -> Any:
    """Creates a variable whose memory is the graph's own: each execution has a new one.

    Args:
        **options: What a variable creator is given.

    Raises:
        NotImplementedError: If TensorFlow lacks what it takes.
    """
    if _ResourceVariable is object:
        raise NotImplementedError(f"TensorFlow {tf.__version__} cannot keep variables in a graph")
    value = options["initial_value"]
    value = tf.convert_to_tensor(value() if callable(value) else value, options.get("dtype"))
    name = options.get("name") or "Variable"
    shape = tf.TensorShape(options.get("shape") or value.shape)
    with tf.name_scope(name):
        handle = tf.raw_ops.VarHandleOp(
            dtype=value.dtype, shape=shape, shared_name=_ANONYMOUS, container=""
        )
    variable = LocalVariable(
        trainable=options.get("trainable") is not False,
        shape=shape,
        dtype=value.dtype,
        handle=handle,
        name=name,
        handle_name=name,
        unique_id=f"{name}_{id(handle)}",
        initial_value=value,
        constraint=options.get("constraint"),
    )
    tf.raw_ops.AssignVariableOp(resource=handle, value=value)
    return variable


_ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""The name by which the runtime makes a resource anew for each execution."""


def user_line() -> str:
    """File and line of the user's code that runs, also where AutoGraph has converted it."""
    stack = _tf_stack.extract_stack() if _tf_stack is not None else traceback.extract_stack()
    for frame in reversed(list(stack)):
        file = str(frame.filename)
        if not any(part in file for part in _NOT_THE_USERS):
            return f"{os.path.basename(file)}, line {frame.lineno}"
    return "an unknown place"


_NOT_THE_USERS = (
    *(f"{os.sep}{name}{os.sep}" for name in ("tensorflow", "keras", "nbfn")),
    *("__autograph_generated_file", "contextlib.py"),
)


def is_assigned_variable(value: Any) -> bool:
    """Whether a value is what ``assign`` returns in a graph: a variable that is read later."""
    return type(value).__name__ == "_UnreadVariable"


def summary_state() -> tuple[Any, Any]:
    """The default summary writer and the recording condition; None and None if not known."""
    state: Any = getattr(_summary_ops, "_summary_state", None)
    return getattr(state, "writer", None), getattr(state, "is_recording", None)


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


# Parts of graphs --------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphCapture:
    """What a graph captured: a variable, held weakly, or another tensor from outside.

    Attributes:
        name: Name of the tensor inside the graph that stands for it.
    """

    name: str
    _handle: Any
    _variable: weakref.ReferenceType[Any] | None

    def enter(self, graph: Any) -> Any | None:
        """Captures the same in another graph; None if the variable is gone."""
        if self._variable is None:
            return graph.capture(self._handle)
        variable = self._variable()
        if variable is None:
            return None
        graph.watch_variable(variable)
        return graph.capture(variable.handle)


WITHOUT_CONTROL_DEPENDENCIES = {"_disable_acd": True}
"""The ``experimental_attributes`` of a function that adds no control dependencies of its own."""


def operations_with_effects(graph: Any) -> list[Any]:
    """Operations that run at each call of a function, needed or not; empty for other graphs."""
    return list(getattr(graph, "control_outputs", ()))


def graph_captures(graph: Any) -> list[GraphCapture]:
    """What a graph captured from eager code; empty for a graph that can capture nothing."""
    if not all(hasattr(graph, name) for name in ("captures", "variables", "watch_variable")):
        return []
    variables = {id(variable.handle): variable for variable in graph.variables}
    found = []
    for external, internal in graph.captures:
        variable = variables.get(id(external))
        if variable is not None:
            found.append(GraphCapture(internal.name, None, weakref.ref(variable)))
        elif isinstance(external, EagerTensor):
            found.append(GraphCapture(internal.name, external, None))
    return found


def owned_variables(wrapped: Any) -> list[Any]:
    """The variables that wrapped TensorFlow 1.x code created, in that order.

    Returns:
        All that its graph uses where those that it created cannot be told.
    """
    holder = getattr(wrapped, "_variable_holder", None)
    created = getattr(holder, "variables", None)
    if created is None:
        degraded("which variables TensorFlow 1.x code has created")
        return list(wrapped.variables)
    return list(created.values())


# Functions made elsewhere -----------------------------------------------------------------


def _optional(module: str) -> Any:
    try:
        return importlib.import_module(f"tensorflow.python.eager.polymorphic_function.{module}")
    except ImportError:
        return None


_transform: Any = _optional("transform")
_tracing_compilation: Any = _optional("tracing_compilation")
_TRACES = "_maybe_define_function"


class Watcher(Protocol):
    """What is told of the look-ups in the trace cache of a function that nbfn did not make."""

    def found(self, concrete: Any, call: bool) -> None:
        """A look-up found this trace; for a call, or for a request."""

    def missed(self, function_type: Any, call: bool) -> None:
        """A look-up found nothing; a trace is made next."""

    def added(self, concrete: Any) -> None:
        """A new trace is in the cache."""


class WatchedCache(DryCache):
    """A trace cache that tells a watcher, and shares its traces with the one it stands for."""

    def __init__(self, original: Any, watcher: Watcher) -> None:
        super().__init__()
        self._primary = original._primary
        self._dispatch_dict = original._dispatch_dict
        self._watcher = watcher

    def lookup(self, function_type: Any, context: Any = None) -> Any:
        found = super().lookup(function_type, context)
        self.end_dry_run(found, function_type)
        if found is None:
            self._watcher.missed(function_type, _within({"_call", "call_function"}, 6))
        else:
            self._watcher.found(found, _within({"call_function"}, 4))
        return found

    def add(self, fn: Any, context: Any = None) -> None:
        super().add(fn, context)
        self._watcher.added(fn)


def _within(names: set[str], depth: int) -> bool:
    """Whether one of TensorFlow's own functions of these names has asked."""
    frame = sys._getframe(2)
    for _ in range(depth):
        if frame.f_code.co_name in names:
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


def watch_cache(function: Any, watcher: Watcher) -> bool:
    """Lets a watcher see the look-ups of one function, whose traces stay as they are.

    Returns:
        Whether it sees them. If not, only the traces themselves can be listed.
    """
    if _Cache is object or not hasattr(_Cache(), "_dispatch_dict"):
        degraded("which trace serves a call")
        return False
    cache = WatchedCache(function._function_cache, watcher)
    function._function_cache = cache
    for name in ("_variable_creation_config", "_no_variable_creation_config"):
        config: Any = getattr(function, name, None)
        if getattr(config, "function_cache", None) is not None:
            config.function_cache = cache
    return True


def on_trace(callback: Callable[[Any], None]) -> bool:
    """Has a callback called with each new concrete function, before that is in its cache.

    Returns:
        False where TensorFlow calls nothing.
    """
    callbacks = getattr(_transform, "CONCRETE_FUNCTION_CALLBACKS", None)
    if not isinstance(callbacks, list) or not hasattr(_tracing_compilation, _TRACES):
        degraded("functions that it was not told to watch")
        return False
    if callback not in callbacks:
        callbacks.append(callback)
    return True


def off_trace(callback: Callable[[Any], None]) -> None:
    """Takes back `on_trace`."""
    callbacks = getattr(_transform, "CONCRETE_FUNCTION_CALLBACKS", [])
    if callback in callbacks:
        callbacks.remove(callback)


def tracing_function() -> Any | None:
    """The tf.function whose trace is being made by the innermost of TensorFlow's frames.

    Returns:
        None if that trace goes into no function's cache, such as the initialisation of variables.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != _TRACES:
        frame = frame.f_back
    if frame is None:
        return None
    options: Any = frame.f_locals.get("tracing_options")
    cache = getattr(options, "function_cache", None)
    if cache is None:
        return None
    file = Function._initialize.__code__.co_filename if hasattr(Function, "_initialize") else None
    while frame is not None:
        if frame.f_code.co_filename == file:
            found = frame.f_locals.get("self")
            if isinstance(found, Function) and getattr(found, "_function_cache", None) is cache:
                return found
        frame = frame.f_back
    return None


def building_seconds() -> float | None:
    """The time that was spent so far building graphs of outermost functions; None if not known."""
    counter: Any = getattr(_tracing_compilation, "_graph_building_time_counter", None)
    return counter.get_cell().value() / 1e6 if hasattr(counter, "get_cell") else None


def has_created_variables(function: Any) -> bool:
    """Whether a function has created variables on its first call; False where that is unknown."""
    return bool(getattr(function, "_created_variables", None))


def method_owner(function: Any) -> Any | None:
    """The instance whose method a tf.function is; None if it is no method, or it is gone."""
    bound: Any = getattr(function, "python_function", None)
    while hasattr(bound, "__wrapped__") and not hasattr(bound, "__self__"):
        bound = bound.__wrapped__
    return getattr(getattr(bound, "__self__", None), "target", None)


# Trials -----------------------------------------------------------------------------------


class UnlistedFunction(ScopedFunction):
    """A tf.function that nbfn makes for its own use, and that is shown nowhere."""


def unlisted(function: Any, kind: type) -> Any:
    """A function of the same Python function with the same options, and no traces.

    Args:
        function: The function.
        kind: The class of the new one, an `UnlistedFunction`.
    """
    if hasattr(Function, "_clone"):
        made = Function._clone(function, None)
    else:
        made = tf.function(function.python_function, input_signature=function.input_signature)
    made.__class__ = kind
    mute_tracing_warning(made)
    return made


def eager_random_state() -> Any:
    """The state from which eager operations draw their seeds; None where it cannot be told."""
    numbers: Any = getattr(_context.context(), "_rng", None) if _context is not None else None
    return numbers.getstate() if hasattr(numbers, "getstate") else None


def put_eager_random_state_back(state: Any) -> None:
    """Puts back what `eager_random_state` gave."""
    if state is not None and _context is not None:
        _context.context()._rng.setstate(state)
