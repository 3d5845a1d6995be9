"""Adds notes with advice to frequent errors of TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import numpy as np
import tensorflow as tf

from nbfn.code import package_of
from nbfn.errors import NbfnError
from nbfn.functions.inside.numerics_checker import NumericsError
from nbfn.functions.recording.recorder import TRACED_AGAIN
from nbfn.functions.recording.refusal import RefusedError
from nbfn.notebook.errors.decisions import (
    gives_seed,
    is_in_try,
    keeps_in_loop,
    loops_over_data,
    raises_in_branch,
    replacement_on,
    sizes_on,
    sizes_read,
)
from nbfn.notebook.errors.located_error import LocatedError
from nbfn.package import page_of_guide
from nbfn.text import sizes

_FLOATS = {"float16", "bfloat16", "float32", "float64"}
# The text of `framework/func_graph.py`; loops and branches outside of name scopes have these names
# (TensorFlow 2.21, `ops/while_v2.py`, `ops/cond_v2.py`).
_IN_LOOP = r"defined in FuncGraph\(name=(while_body|cond_true|cond_false)"
Advise = Callable[[LocatedError], str | None]


def add_notes(
    error: BaseException, traceback: TracebackType | None, namespace: Mapping[str, Any]
) -> None:
    """Adds advice to an error as a note, once."""
    if isinstance(error, NbfnError):  # it says itself what to do
        return
    if any(TRACED_AGAIN not in note for note in getattr(error, "__notes__", ())):
        return
    failure = LocatedError(error, traceback, namespace)
    for pattern, advise in _ADVICE:
        if re.search(pattern, failure.message):
            note = failure.place + advise if isinstance(advise, str) else advise(failure)
            if note:
                error.add_note(note)
                return
    note = _session(failure) or _raise_advice(failure) or _not_caught(failure)
    if note:
        error.add_note(note)


def add_address(error: BaseException) -> None:
    """Adds the address of the page that explains an error, once."""
    notes = getattr(error, "__notes__", [])
    page = error.page if isinstance(error, RefusedError) else None
    if isinstance(error, NumericsError) or any("nbfn.postmortem" in note for note in notes):
        page = page_of_guide("inside")
    if page is not None and not any(page in note for note in notes):
        error.add_note(f"See {page}")


def _leak_advice(failure: LocatedError) -> str:
    place = None
    if re.search(_IN_LOOP, failure.message):
        # A leaking result is detected at the call of the function; the message says where it was
        # made.
        lines = [line for line in (*failure.named, failure.line) if line is not None]
        place = next(filter(None, map(keeps_in_loop, lines)), None)
    if place is not None:
        number, container = place
        return (
            f"line {number}: `{container}` is a Python list, which this TensorFlow loop fills "
            f"once, while it is traced. Use {container} = tf.TensorArray(dtype, size=0, "
            f"dynamic_size=True) above it, with the dtype of what is kept, {container} = "
            f"{container}.write(i, ...) in it, and {container}.stack() below"
        )
    holders = [
        name
        for name, value in failure.namespace.items()
        if not name.startswith("_") and _holds_graph_tensor(value)
    ]
    where = f", and is kept in {', '.join(f'`{name}`' for name in holders)}" if holders else ""
    return (
        f"a tensor is used outside the function whose graph made it{where}. It has a value only "
        "while that function runs; return it from the function instead"
    )


def _holds_graph_tensor(value: Any) -> bool:
    try:
        leaves = tf.nest.flatten(vars(value) if hasattr(value, "__dict__") else value)
        return any(tf.is_symbolic_tensor(each) for each in [value, *leaves] if tf.is_tensor(each))
    except Exception:  # attributes of user objects may raise anything
        return False


def _condition(failure: LocatedError) -> str:
    if failure.line is not None and gives_seed(failure.line):
        return failure.place + _SEED  # with global seed 0, TensorFlow compares the seed with 0
    other = None if failure.line is None else replacement_on(failure.line)
    if other is not None:
        return f"{failure.place}a tensor has no value while the function is traced, and {other}"
    of_keras = _by_keras(failure)
    if of_keras is not None:
        return f"{failure.place}{of_keras}"
    source = failure.source()
    if source.count("lambda") > 1:
        return (
            f"{failure.place}AutoGraph cannot tell lambdas on one line apart and leaves them as "
            "they are, so Python needs the value of a tensor. Write each on a line of its own, or "
            "use `def`"
        )
    unsupported = failure.unsupported()
    if unsupported is not None:
        return (
            f"AutoGraph does not convert {unsupported}, so Python needs the value of a tensor. "
            "Write it as a statement of its own, or in a function of its own"
        )
    return (
        f"{failure.place}Python needs the value of a tensor here, which is not known while the "
        "function is traced. Leave AutoGraph on (no autograph=False, no --no-autograph), or use "
        "tf.cond, tf.while_loop or tf.where"
    )


def _by_keras(failure: LocatedError) -> str | None:
    """Advises on code that Keras runs without AutoGraph."""
    for model, method in loops_over_data(failure.line) if failure.line is not None else ():
        if _is_of_keras(failure.value_of(model)):
            return (
                f"`{method}` of a Keras model makes traced functions itself. Call it in a cell "
                "without %%tf_function"
            )
    # Keras 3.15 puts this in front of the errors of layers
    # (`utils/traceback_utils.py`, `inject_argument_info_in_traceback`).
    if "Exception encountered when calling" not in failure.message:
        return None
    return (
        "Python needs the value of a tensor here, and Keras calls layers without AutoGraph. Use "
        "tf.cond, tf.while_loop or tf.where, or put @tf.function above the layer's method"
    )


def _is_of_keras(value: Any) -> bool:
    return any(package_of(cls.__module__) == "keras" for cls in type(value).__mro__)


def _raise_advice(failure: LocatedError) -> str | None:
    """Advises on a ``raise`` that ran because TensorFlow traces both branches."""
    # AutoGraph's functions for branches and loops on tensors (TensorFlow 2.21).
    staged = any(name in ("_tf_if_stmt", "_tf_while_stmt") for name in failure.functions())
    if not (staged and failure.line is not None and raises_in_branch(failure.line)):
        return None
    return (
        f"{failure.place}the value of a tensor decides whether this runs. TensorFlow traces it in "
        "any case, so Python raises. Use tf.debugging.Assert, which raises only in calls that get "
        "here"
    )


def _session(failure: LocatedError) -> str | None:
    """Advises on a Session of TensorFlow 1 in a traced function."""
    names = set(failure.functions())
    is_traced = "placeholder_arguments" in str(failure.error) or "_maybe_define_function" in names
    if not is_traced or "BaseSession" not in failure.owners():
        return None
    return failure.place + _SESSION


def _not_caught(failure: LocatedError) -> str | None:
    """Advises on an error of the runtime, which ``except`` in a traced function cannot catch."""
    if not isinstance(failure.error, tf.errors.OpError):
        return None
    if failure.line is None or not is_in_try(failure.line):
        return None
    return (
        f"{failure.place}`except` catches what Python raises while the function is traced; this "
        "was raised when its graph ran. Catch it around the call"
    )


def _loop(failure: LocatedError) -> str:
    name = re.search(r"'(\w+)' must be defined", failure.message)
    what = f"`{name[1]}`" if name else "a name"
    return (
        f"{failure.place}{what} gets its first value inside a loop that may not run at all; assign "
        "it above the loop, with the same dtype and shape"
    )


def _shapes(failure: LocatedError) -> str | None:
    texts = [
        f"`{name}` is {_dtype(value)}{sizes(value.shape)}" for name, value in failure.operands()
    ]
    return f"{failure.place}{', '.join(texts)}" if texts else None


def _dtype(value: Any) -> str:
    return str(tf.dtypes.as_dtype(value.dtype).name)


def _array(failure: LocatedError) -> str:
    called = re.search(r"\b(?:np|numpy)\.(\w+)\(", failure.source())
    instead = "TensorFlow's function"
    if called is not None:
        name = _OF_NUMPY.get(called[1], called[1])
        homes = (("tf", tf), ("tf.math", tf.math), ("tf.experimental.numpy", tf.experimental.numpy))
        home = next((text for text, module in homes if hasattr(module, name)), None)
        instead = f"{home}.{name}" if home is not None else instead
    return (
        f"{failure.place}NumPy needs values, and a tensor has none while the function is traced. "
        f"Use {instead}, or do it in a cell below"
    )


_OF_NUMPY = {
    **{name: f"reduce_{name}" for name in ("sum", "mean", "max", "min", "prod", "any", "all")},
    "std": "reduce_std",
    "var": "reduce_variance",
    "amax": "reduce_max",
    "amin": "reduce_min",
    "concatenate": "concat",
    "dot": "tensordot",
    "power": "pow",
    "array": "convert_to_tensor",
    "arange": "range",
    "asarray": "convert_to_tensor",
    "mod": "floormod",
}
"""TensorFlow's names of NumPy functions where they differ."""


def _grows(failure: LocatedError) -> str | None:
    found = re.search(
        r"'(\w+)' has shape \((.*?)\) before the loop, but shape \((.*?)\)", failure.message
    )
    if found is None:
        return None
    name, before, after = found[1], found[2].split(","), found[3].split(",")
    sizes = [size.strip() for size in before if size.strip()]
    later = [size.strip() for size in after if size.strip()]
    shape = "None"
    if len(sizes) == len(later):
        open_sizes = [a if a == b else "None" for a, b in zip(sizes, later, strict=True)]
        shape = f"[{', '.join(open_sizes)}]"
    return (
        f"{failure.place}the shape of `{name}` changes between iterations. Declare that in the "
        "first statement of the loop: tf.autograph.experimental.set_loop_options("
        f"shape_invariants=[({name}, tf.TensorShape({shape}))])"
    )


def _two_dtypes(failure: LocatedError) -> str | None:
    found = re.search(r"'(\w+)' has dtype (\w+) .*?, but dtype (\w+)", failure.message)
    if found is None:
        return failure.place + _BRANCH
    name, one, other = found.groups()
    return (
        f"{failure.place}the value of a tensor decides this, so `{name}` must keep one dtype. "
        f"Where it is {other}, use tf.cast(..., tf.{one})"
    )


def _attribute(failure: LocatedError) -> str | None:
    name = re.search(r"attribute '(\w+)'", failure.message)
    if name is None:
        return None
    if name[1] == "numpy":
        return (
            f"{failure.place}a tensor has no value while the function is traced; do it in a cell "
            "below"
        )
    if not hasattr(np.ndarray, name[1]):
        return None
    return (
        f"{failure.place}NumPy arrays have `.{name[1]}`, tensors have not, and an array that is "
        "passed as an argument is a tensor here. Use TensorFlow's function"
    )


def _dtypes(failure: LocatedError) -> str | None:
    """Advises on a mismatch of dtypes: the dtype of each name on the line, and what to cast."""
    pattern = r"type (\w+) that does not match type (\w+)|got tf\.(\w+) != tf\.(\w+)"
    found = re.search(pattern, failure.message)
    if found is None or failure.line is None:
        return None
    dtypes = {each for each in found.groups() if each}
    if "int32" in dtypes and dtypes & _FLOATS:
        for size, of in sizes_on(failure.line):
            return f"{failure.place}sizes are int32. Write tf.cast({size}, {of}.dtype)"
    every = {name: (_dtype(value), sizes(value.shape)) for name, value in failure.operands()}
    chosen = {name: each for name, each in every.items() if each[0] in dtypes}
    integers = [name for name, (dtype, _) in chosen.items() if dtype == "int32"]
    starts = ((name, failure.integer_start(name)) for name in integers)
    for name, start in starts if _FLOATS & dtypes else ():
        if start is not None:
            value, line = start
            return (
                f"{failure.place}`{name}` starts as the integer {value} (line {line}), and a loop "
                f"keeps its dtype. Start with {float(value)}"
            )
    scalars = [name for name, each in chosen.items() if each == ("float64", "[]")]
    if scalars and "float32" in dtypes:
        name = scalars[0]
        return (
            f"{failure.place}`{name}` is a float64 tensor, which is what a NumPy number becomes. "
            f"Pass float({name}), or write tf.cast({name}, tf.float32)"
        )
    texts = [f"`{name}` is {dtype}{shape}" for name, (dtype, shape) in chosen.items()]
    which = "it" if len(texts) == 1 else "one of them"
    return f"{failure.place}{', '.join(texts)}. Use tf.cast on {which}" if texts else None


def _open_size(failure: LocatedError) -> str | None:
    """Advises on a size that is None because the signature leaves it open."""
    if failure.line is None:
        return None
    for size in sizes_read(failure.line):
        shape = getattr(failure.value_of(size.of), "shape", None)
        if isinstance(shape, tf.TensorShape) and not shape.is_fully_defined():
            return (
                f"{failure.place}`{size.written}` is not known while the function is traced. Write "
                f"{size.instead} in place of it"
            )
    return None


def _large(failure: LocatedError) -> str | None:
    arrays = [name for name, value in failure.operands() if getattr(value, "nbytes", 0) > 2**31 - 1]
    name = arrays[0] if arrays else "the array"
    example = f": {name} = tf.Variable({name})" if arrays else ""
    return (
        f"{failure.place}`{name}` would be a constant of the graph, which holds 2 GB at most. Keep "
        f"it in a tf.Variable{example}; or pass it as an argument"
    )


def _xla_advice(failure: LocatedError) -> str:
    operations = ", ".join(dict.fromkeys(re.findall(r"(\w+) \(No registered", failure.message)))
    return (
        f"{failure.place}XLA has no {operations or 'such operation'}; do it outside of what is "
        "compiled, or leave jit_compile=True (in a cell: --jit) out"
    )


# Advice that does not depend on the source line.
_CREATED = (
    "a traced function may create variables on its first call only. Create "
    "the variable in a cell above; or once, if it is still None; or let it live for one "
    "call, with local_state=True (in a cell: --local-state)"
)
_RETURN = (
    "`return` cannot leave a TensorFlow loop; assign the result to a name, "
    "`break`, and return it after the loop"
)
_ENDLESS = (
    "the condition is a Python value before the first iteration and a tensor "
    "after it; begin with a tensor: `while tf.constant(True):`"
)
_DEAD = (
    "a variable that the trace captured was deleted or has no value. Run the "
    "cells again that make it and that define the function, so that the function is traced "
    "with the variable that is there now"
)
_FORMAT = (
    "a tensor has no value while the function is traced. Use tf.strings.format "
    "to put values into a string, or tf.print to show them; or do it in a cell below"
)
_BRANCH = (
    "the value of a tensor decides which branch runs, so both must give a "
    "value of the same dtype: assign the name in both, or above the `if`; or return in both"
)

_SEED = (
    "a seed is a Python number here, and a tensor has no value while the function is traced. Use "
    "a stateless draw, such as tf.random.stateless_normal(shape, seed=[1, step])"
)
_SESSION = (
    "a Session of TensorFlow 1 cannot run the graph of a function, which runs when the function is "
    "called. Return the tensor without a Session; older code runs in nbfn.wrap_function"
)

# Heuristics: texts of TensorFlow 2.21, Keras 3.15 and NumPy. The first that matches counts. If one
# changes, the error has no advice. Held by `tests/notebook/errors/test_tracebacks.py`.
_ADVICE: tuple[tuple[str, Advise | str], ...] = (
    (r"singleton tf\.Variables|create variables on non-first|non-first call", _CREATED),
    (r"Detected unsupported operations when trying to compile graph", _xla_advice),
    (r"is out of scope|InaccessibleTensorError|not an element of this graph", _leak_advice),
    (r"Expected int for argument 'seed2?'", _SEED),
    (r"larger than 2GB|exceeds maximum protobuf size", _large),
    (r"that does not match type|must have the same dtype, got", _dtypes),
    (
        r"Failed to convert elements of .*None|None values not supported|'NoneType' (and|object)|"
        r"and 'NoneType'|partially known TensorShape|not 'NoneType'|convert a value \(None\)",
        _open_size,
    ),
    (r"as a Python `bool`|[Ii]terating over a symbolic", _condition),
    (
        r"Dimensions must be equal|[Ii]ncompatible shapes|Shapes? .* (must|are)|Matrix size|"
        r"must be (at least )?rank|required broadcastable shapes|In\[0\]|Cannot reshape|"
        r"Input to reshape|ConcatOp",
        _shapes,
    ),
    (r"Could not find variable|variable has been deleted|uninitialized|FailedPrecond", _DEAD),
    (r"symbolic.*(NumPy|numpy) array", _array),
    (r"unsupported format string passed to \w*Tensor|must be real number, not \w*Tensor", _FORMAT),
    (r"'(Symbolic)?Tensor' object has no attribute", _attribute),
    (r"must be defined before the loop$", _loop),
    (r"return statement cannot be placed inside this TensorFlow loop", _RETURN),
    (r"condition of while loop started as non-Tensor", _ENDLESS),
    (r"has shape .* before the loop, but shape", _grows),
    (r"has dtype \w+ (in the main branch|before the loop), but dtype", _two_dtypes),
    (
        r"must also be initialized|must also have a return|must also return|is None at the end|"
        r"different dtypes",
        _BRANCH,
    ),
)
