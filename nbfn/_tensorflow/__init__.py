"""All uses of TensorFlow's internals; no other part of nbfn uses them.

Each internal is probed once. If it is missing, the function that needs it returns ``None`` or
``False`` (see its docstring), the caller falls back to public API, and `degraded` warns once. The
folders are named by subject: ``autograph`` converts code; ``tracing`` has trace caches, keys and
the fast call; ``graphs`` has captures, called functions and Python in graphs; ``trackables`` has
variables, tracked containers and what is saved; ``running`` cancels, samples, times and collects
metadata. Code that depends on internals of Keras is in ``modules/layers``.
"""

from nbfn._tensorflow.autograph.redefinition import discard_conversion, renew_parameters
from nbfn._tensorflow.autograph.source_map import (
    Conversion,
    call_as_here,
    converted_from,
    leave_alone,
    original_line,
    origins,
    raised_in_python,
)
from nbfn._tensorflow.base import (
    Function,
    degraded,
    saving,
    tf_function,
)
from nbfn._tensorflow.graphs.captures import (
    GraphCapture,
    by_reference,
    captured,
    captured_from,
    graph_captures,
    owned_variables,
)
from nbfn._tensorflow.graphs.custom_gradients import hold_custom_gradients
from nbfn._tensorflow.graphs.equivalence import are_equivalent
from nbfn._tensorflow.graphs.function_graphs import (
    WITHOUT_CONTROL_DEPENDENCIES,
    called,
    called_graphs,
    graphs_in,
    has_boolean_conditions,
    is_loop_or_branch,
    operations_with_effects,
    outputs_of,
    reachable_functions,
    run_at_each_call,
    skip_identities,
    unused_operations,
)
from nbfn._tensorflow.graphs.ordering import (
    NODE_IN_ERROR,
    OrderedCallbacks,
    add_callback,
    keep_order,
    may_fail,
    may_have_written,
    unordered_loops,
)
from nbfn._tensorflow.graphs.python_calls import PYTHON_CALLS, graph_time_functions
from nbfn._tensorflow.graphs.source_lines import (
    current_user_line,
    line_of_random_draw,
    line_within,
    place_of_operation,
    user_lines_of,
)
from nbfn._tensorflow.operation_types import (
    HIDDEN_STATE,
    all_nodes,
    assigns,
    changing_resource_operations,
    operations_outside,
    stateful_random_operations,
    writes,
)
from nbfn._tensorflow.running.cancellation import (
    CAN_CANCEL,
    Cancellation,
    can_be_stopped,
    has_other_canceller,
)
from nbfn._tensorflow.running.devices import (
    counted_memory,
    entered_devices,
    is_custom_device,
    memory_of_devices,
)
from nbfn._tensorflow.running.gradient_tapes import is_recording, record_gradient
from nbfn._tensorflow.running.hidden_settings import (
    SETTINGS,
    eager_random_state,
    restore_eager_random_state,
    settings_of,
    summary_state,
)
from nbfn._tensorflow.running.profiling import Executed, ProfilerBusyError, run_profiled
from nbfn._tensorflow.running.python_loops import Counter, enclosing_graphs, register_loop
from nbfn._tensorflow.running.run_metadata import run_collecting
from nbfn._tensorflow.running.sampling import (
    called_in,
    compiles_with_xla,
    original,
    runs_in,
    traced_in,
)
from nbfn._tensorflow.tracing.cache import (
    concrete_functions,
    discard,
    mute_tracing_warning,
    new_cache,
    observe,
)
from nbfn._tensorflow.tracing.calls import (
    EagerTensor,
    Iterator,
    WithoutOptimizations,
    call_in_progress,
    calls_back,
    canonical,
    flat_call,
    flat_inputs,
    is_composite,
    iterator_parts,
    parameter_names,
    plain_eager_device,
    shapes_text,
    tensor_key,
    tensor_keys,
)
from nbfn._tensorflow.tracing.foreign_functions import (
    add_trace_callback,
    building_seconds,
    data_function,
    has_created_variables,
    method_owner,
    remove_trace_callback,
    tracing_function,
    watch_cache,
)
from nbfn._tensorflow.tracing.operation_callbacks import (
    CAN_LISTEN,
    Differentiated,
    Listener,
    NewOperation,
    differentiated,
    listening,
    makes_gradients,
    trace_without_xla,
    traced_again,
)
from nbfn._tensorflow.tracing.restored import saved_graphs, saved_signature
from nbfn._tensorflow.tracing.trace_types import (
    ContainerNode,
    ObjectNode,
    TensorNode,
    ValueNode,
    nodes,
    objects,
    trace_types,
    unfold_spec,
    walk_nodes,
)
from nbfn._tensorflow.tracing.tracing import (
    CAN_SCOPE,
    OF_FIRST_TRACE,
    ScopedFunction,
    UnlistedFunction,
    adopt_initialization,
    explicit_device,
    holds_lock,
    initialization,
    look_up,
    may_create_variables,
    options_of,
    release_lock,
    restore_initialization,
    schedules,
    share_lock,
    untraced_copy,
)
from nbfn._tensorflow.trackables.checkpoints import saved_objects
from nbfn._tensorflow.trackables.resource_variables import (
    constrain,
    distributed_variable,
    entries,
    is_local_variable,
    local_variable,
    unwatch,
)
from nbfn._tensorflow.trackables.saved_model import (
    SavedModel,
    can_be_saved,
    definitions,
    difference,
    is_as_written,
)
from nbfn._tensorflow.trackables.wrappers import (
    WRAPPERS,
    ignored_attributes,
    trackable_children,
    unwrap,
)

leave_alone("nbfn")
