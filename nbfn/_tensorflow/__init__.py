"""TensorFlow's internals: no other part of nbfn names one.

Each internal is probed once. Where one is missing, the function that needs it answers ``None`` or
``False`` (its docstring says which), the caller falls back to public API, and `degraded` says so
once.
"""

from nbfn._tensorflow.autograph import (
    Conversion,
    original_line,
    origins,
)
from nbfn._tensorflow.base import (
    Function,
    as_it_is,
    degraded,
    saving,
    tf_function,
    unconverted,
)
from nbfn._tensorflow.cache import (
    CacheObserver,
    DryCache,
    LookedUp,
    ObservedCache,
    concrete_functions,
    discard,
    mute_tracing_warning,
    new_cache,
    observe,
)
from nbfn._tensorflow.calls import (
    EagerTensor,
    canonical,
    flat_call,
    flat_inputs,
    is_plain_eager,
    parameter_names,
    plain_eager_device,
    shapes_text,
    tensor_key,
    tensor_keys,
)
from nbfn._tensorflow.cancellation import (
    CAN_CANCEL,
    Cancellation,
    can_be_stopped,
    is_cancellable,
)
from nbfn._tensorflow.captures import (
    Captured,
    captured,
    changing_resource_operations,
    stateful_random_operations,
    trackable_children,
)
from nbfn._tensorflow.elsewhere import (
    WatchedCache,
    Watcher,
    building_seconds,
    has_created_variables,
    method_owner,
    off_trace,
    on_trace,
    tracing_function,
    watch_cache,
)
from nbfn._tensorflow.graphs import (
    WITHOUT_CONTROL_DEPENDENCIES,
    GraphCapture,
    graph_captures,
    operations_with_effects,
    owned_variables,
)
from nbfn._tensorflow.loops import Counter, enclosing_graphs, register_loop
from nbfn._tensorflow.python_calls import (
    graph_time_functions,
)
from nbfn._tensorflow.recording import (
    record_gradient,
)
from nbfn._tensorflow.redefinition import (
    convert_anew,
    renew_parameters,
)
from nbfn._tensorflow.runs import (
    run_collecting,
)
from nbfn._tensorflow.sampling import (
    Sample,
    compiles_with_xla,
    is_call,
    operation_count,
    original,
    samples,
    traced_in,
)
from nbfn._tensorflow.structures import (
    WRAPPERS,
    truncate,
    unwrapped,
)
from nbfn._tensorflow.tensors import (
    is_tensor_by_class,
)
from nbfn._tensorflow.trace_types import (
    Container,
    Object,
    Tensor,
    Value,
    by_reference,
    objects,
    parameters,
    unfold,
)
from nbfn._tensorflow.tracing import (
    CAN_SCOPE,
    ScopedFunction,
    explicit_device,
    holds_lock,
    initialization,
    look_up,
    release_lock,
    restore_initialization,
)
from nbfn._tensorflow.trials import (
    UnlistedFunction,
    eager_random_state,
    put_eager_random_state_back,
    unlisted,
)
from nbfn._tensorflow.variables import (
    LocalVariable,
    constrain,
    is_assigned_variable,
    is_local_variable,
    local_variable,
    summary_state,
    user_line,
)

__all__ = [
    "CAN_CANCEL",
    "CAN_SCOPE",
    "WITHOUT_CONTROL_DEPENDENCIES",
    "WRAPPERS",
    "CacheObserver",
    "Cancellation",
    "Captured",
    "Container",
    "Conversion",
    "Counter",
    "DryCache",
    "EagerTensor",
    "Function",
    "GraphCapture",
    "LocalVariable",
    "LookedUp",
    "Object",
    "ObservedCache",
    "Sample",
    "ScopedFunction",
    "Tensor",
    "UnlistedFunction",
    "Value",
    "WatchedCache",
    "Watcher",
    "as_it_is",
    "building_seconds",
    "by_reference",
    "can_be_stopped",
    "canonical",
    "captured",
    "changing_resource_operations",
    "compiles_with_xla",
    "concrete_functions",
    "constrain",
    "convert_anew",
    "degraded",
    "discard",
    "eager_random_state",
    "enclosing_graphs",
    "explicit_device",
    "flat_call",
    "flat_inputs",
    "graph_captures",
    "graph_time_functions",
    "has_created_variables",
    "holds_lock",
    "initialization",
    "is_assigned_variable",
    "is_call",
    "is_cancellable",
    "is_local_variable",
    "is_plain_eager",
    "is_tensor_by_class",
    "local_variable",
    "look_up",
    "method_owner",
    "mute_tracing_warning",
    "new_cache",
    "objects",
    "observe",
    "off_trace",
    "on_trace",
    "operation_count",
    "operations_with_effects",
    "original",
    "original_line",
    "origins",
    "owned_variables",
    "parameter_names",
    "parameters",
    "plain_eager_device",
    "put_eager_random_state_back",
    "record_gradient",
    "register_loop",
    "release_lock",
    "renew_parameters",
    "restore_initialization",
    "run_collecting",
    "samples",
    "saving",
    "shapes_text",
    "stateful_random_operations",
    "summary_state",
    "tensor_key",
    "tensor_keys",
    "tf_function",
    "traced_in",
    "tracing_function",
    "trackable_children",
    "truncate",
    "unconverted",
    "unfold",
    "unlisted",
    "unwrapped",
    "user_line",
    "watch_cache",
]
