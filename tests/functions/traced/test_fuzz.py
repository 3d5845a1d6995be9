"""A differential fuzz: random functions over random arguments, three ways.

Each function is called eagerly, as a tf.function and as an nbfn.function, several times each, so
that the fast dispatch of repeated calls is met: same values, same errors, same gradients.
``NBFN_FUZZ=5000`` runs that many examples.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, settings

import nbfn
from tests.harness.arguments import (
    ARGUMENTS,
    CHANGES,
    KEYED_BY_VALUE,
    VARIABLES,
    Settings,
    changed,
    leaves_of,
    twin,
)

EXAMPLES = int(os.environ.get("NBFN_FUZZ", "60"))
CALLS = 3

# Functions --------------------------------------------------------------------------------


def dense(leaf: Any) -> Any:
    """A leaf as a float32 tensor; what is no number as a number that tells its type and value."""
    if isinstance(leaf, tf.SparseTensor):
        return tf.cast(tf.sparse.to_dense(leaf), tf.float32)
    if isinstance(leaf, tf.RaggedTensor):
        return tf.cast(leaf.to_tensor(), tf.float32)
    if isinstance(leaf, Settings):
        return tf.constant(leaf.factor)
    if leaf is None:
        return tf.constant(-7.0)
    if isinstance(leaf, str | bytes):
        return tf.constant(float(len(leaf)) + (0.25 if isinstance(leaf, str) else 0.5))
    if isinstance(leaf, bool):
        return tf.constant(11.0 if leaf else 12.0)
    if isinstance(leaf, complex):
        return tf.constant(leaf.real - leaf.imag)
    if isinstance(leaf, int):
        return tf.constant(leaf) // 2 * 1000 + leaf
    if isinstance(leaf, float):
        # Eager tf.constant gives a cached 0.0 for -0.0; that of an array is made again.
        return 1.0 / tf.constant(np.array(leaf, np.float32))
    return tf.convert_to_tensor(leaf)


def numbers(tree: Any) -> list[Any]:
    return [tf.cast(dense(leaf), tf.float32) for leaf in leaves_of(tree)]


def total(x: Any) -> Any:
    parts = [tf.reduce_sum(part) for part in numbers(x)]
    return tf.add_n(parts) if parts else tf.constant(0.0)


def each(x: Any) -> Any:
    return [part * 2.0 + 1.0 for part in numbers(x)]


def as_it_is(x: Any) -> Any:
    return {"leaves": [dense(leaf) for leaf in leaves_of(x)], "count": len(leaves_of(x))}


def with_variable(x: Any) -> Any:
    return total(x) * VARIABLES[0]


def branching(x: Any) -> Any:
    value = total(x)
    if value > 1.0:
        value = tf.sqrt(value)
        value = value + 1.0
    else:
        value = value * value
    return value


def looping(x: Any) -> Any:
    value = total(x)
    for i in tf.range(3):
        value = value + tf.cast(i, tf.float32)
    return value


def by_type(x: Any) -> Any:
    known = [type(leaf).__name__ for leaf in leaves_of(x) if type(leaf) in KEYED_BY_VALUE]
    return tf.constant(len(known)), tf.constant("".join(known))


def strict(x: Any) -> Any:
    parts = numbers(x)
    return tf.concat([tf.reshape(part, [2]) for part in parts], 0)


def matching(x: Any) -> Any:
    result = tf.constant(1.0)
    for part in numbers(x):
        result = result + part
    return result


def nested(x: Any) -> Any:
    return inner_function(total(x)), {"none": None}


inner_function = tf.function(lambda value: tf.exp(-tf.abs(value)))

BODIES: list[Callable[[Any], Any]] = [
    *(total, each, as_it_is, with_variable, branching, looping, by_type, strict, matching, nested),
]


def with_signature(body: Callable[[Any], Any], shape: str) -> Callable[..., Any]:
    """The body behind parameters of another kind."""
    if shape == "one":
        return lambda x: body(x)
    if shape == "default":
        return lambda x, y=2.0: body([x, y])
    if shape == "keyword":
        return lambda x, *, key=None: body({"a": x, "b": key})
    return lambda *args, **kwargs: body([list(args), kwargs])


def calls_for(shape: str, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    first, second = values
    if shape == "one":
        return (first,), {}
    if shape == "default":
        return (first, second), {}
    if shape == "keyword":
        return (first,), {"key": second}
    return (first,), {"other": second}


# Comparison -------------------------------------------------------------------------------


def outcome(function: Callable[..., Any], args: Any, kwargs: Any, taped: bool) -> tuple[str, Any]:
    """What a call gives: its leaves as arrays, and its gradients; or the family of its error."""
    watched = [
        leaf
        for leaf in leaves_of([list(args), kwargs])
        if isinstance(leaf, tf.Variable) or _is_differentiable(leaf)
    ]
    try:
        if not taped:
            return "value", [readable(leaf) for leaf in leaves_of(function(*args, **kwargs))]
        with tf.GradientTape() as tape:
            for leaf in watched:
                tape.watch(leaf)
            result = leaves_of(function(*args, **kwargs))
            sums = [tf.reduce_sum(x) for x in result if getattr(x, "dtype", None) == tf.float32]
            goal = tf.add_n(sums or [tf.constant(0.0)])
        gradients = tape.gradient(goal, [*watched, VARIABLES[0]], unconnected_gradients="zero")
        return "value", [readable(leaf) for leaf in (*result, *gradients)]
    except Exception as error:
        return "error", family(error)


def _is_differentiable(leaf: Any) -> bool:
    return isinstance(leaf, tf.Tensor) and bool(leaf.dtype.is_floating)


def readable(leaf: Any) -> Any:
    if isinstance(leaf, tf.IndexedSlices | tf.SparseTensor | tf.RaggedTensor):
        return [readable(part) for part in tf.nest.flatten(leaf, expand_composites=True)]
    array = np.asarray(leaf.numpy() if hasattr(leaf, "numpy") else leaf)
    return array.astype(np.float64) if array.dtype == np.float16 else array


def family(error: Exception) -> str:
    """The kind of an error; shapes that do not fit are found by the graph or by the kernel."""
    if isinstance(error, tf.errors.InvalidArgumentError | ValueError):
        return "ValueError"
    kinds = (TypeError, tf.errors.OpError, AttributeError, KeyError, ZeroDivisionError)
    return next((kind.__name__ for kind in kinds if isinstance(error, kind)), type(error).__name__)


def same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    left, right = np.asarray(left), np.asarray(right)
    if left.shape != right.shape:
        return False
    if left.dtype.kind in "fc":
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.isclose(left, right, rtol=1e-4, atol=1e-5, equal_nan=True)
        return bool(near.all())
    return bool(np.array_equal(left, right))


def agree(left: tuple[str, Any], right: tuple[str, Any]) -> bool:
    if left[0] != right[0]:
        return False
    return left[1] == right[1] if left[0] == "error" else same(left[1], right[1])


CASES = st.tuples(
    st.sampled_from(BODIES),
    st.sampled_from(["one", "default", "keyword", "any"]),
    st.tuples(ARGUMENTS, ARGUMENTS),
    CHANGES,
    st.booleans(),
    st.sampled_from([False, False, True]),
)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)
@hypothesis.example((as_it_is, "one", (0.0, None), [(0, -0.0)], True, False))
@hypothesis.example((as_it_is, "default", (1, True), [(0, True), (0, 1.0)], False, False))
@hypothesis.given(CASES)
def test_eager_plain_and_nbfn_agree(case: Any) -> None:
    body, shape, first, changes, autograph, taped = case
    rounds = [first]
    for position, new in changes:
        rounds.append(changed(rounds[-1], position, new))
    if not autograph and body in (branching, looping):
        body = total
    python = with_signature(body, shape)
    plain, separate = tf.function(python, autograph=autograph), same_python_values(rounds)
    traced = nbfn.function(python, autograph=autograph, max_traces=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair in [*rounds, rounds[0]]:
            args, kwargs = calls_for(shape, list(pair))
            eager = outcome(python, args, kwargs, taped)
            if not separate:  # they would share a trace of one function
                plain = tf.function(python, autograph=autograph)
            wanted = outcome(plain, *twin((args, kwargs)), taped)
            if wanted[0] == eager[0]:  # TensorFlow refuses some arguments, such as np.bool_
                assert agree(wanted, eager), f"tf.function {wanted}\neager {eager}"
            for _ in range(CALLS):
                found = outcome(traced, *twin((args, kwargs)), taped)
                assert agree(found, wanted), f"nbfn {found}\nwanted {wanted}"
    assert len(traced.traces) <= len(rounds)
    if wanted[0] == "value":
        assert traced.hits >= CALLS - 1


def same_python_values(rounds: list[Any]) -> bool:
    """Whether no two Python values are equal but of another type, or sign of zero.

    Such values share a trace in TensorFlow; there nbfn is right, and agrees with the eager call.
    """
    values = [leaf for pair in rounds for leaf in leaves_of(list(pair)) if is_number(leaf)]
    kinds: dict[Any, set[str]] = {}
    for value in values:
        kinds.setdefault(value, set()).add(f"{type(value).__name__} {value!r}")
    return all(len(each) == 1 for each in kinds.values())


def is_number(leaf: Any) -> bool:
    return isinstance(leaf, bool | int | float | complex)
