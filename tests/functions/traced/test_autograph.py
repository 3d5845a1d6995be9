"""What AutoGraph cannot read: ``:=``, ``match``, ``else`` of loops, ``...``, conditionals."""

from __future__ import annotations

import gc
import traceback
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import tensorflow as tf

import nbfn

pytestmark = pytest.mark.filterwarnings("ignore::nbfn.NbfnWarning")


def walrus_in_if(x: Any) -> Any:
    if (total := tf.reduce_sum(x)) > 1:
        y = total * 2
    elif (least := tf.reduce_min(x)) < -5:
        y = least
    else:
        y = total - least
    return y


def walrus_in_while(x: Any) -> Any:
    i = tf.constant(0)
    while (twice := i * 2) < (most := 10):
        if tf.reduce_sum(x) > 1:
            i += 1
        i += 1
    return i, twice, most


def walrus_of_walrus(x: Any) -> Any:
    y = (a := (b := x * 2) + 1) * 3
    if tf.reduce_sum(b) > 1:
        y = y + a
    return y


def walrus_in_with_and_return(x: Any) -> Any:
    with tf.name_scope(name := "inner"):
        if tf.reduce_sum(x) > 1:
            x = x * 2
    return (z := x + len(name)) * z


def walrus_in_for(x: Any) -> Any:
    total = tf.reduce_sum(x) * 0
    for each in (parts := [x, x * 2]):
        if tf.reduce_sum(each) > 1:
            total += tf.reduce_sum(each)
    return total, len(parts)


def match_values(x: Any) -> Any:
    match tf.reduce_sum(x):
        case 3.0:
            y = x * 2
        case 6.0 | -6.0:
            y = x * 3
        case _ if tf.reduce_min(x) < -2:
            y = x * 5
        case _:
            y = -x
    return y


def match_python(x: Any, kind: Any = "double") -> Any:
    match kind:
        case "half":
            x = x / 2
        case "double" | "twice" as how:
            x = x * len(how)
        case None:
            x = -x
        case other:
            x = x * other
    if tf.reduce_sum(x) > 1:
        x = x + 1
    return x


def for_else(x: Any) -> Any:
    y = tf.reduce_sum(x)
    for _ in tf.range(10):
        if y > 5:
            break
        y = y + 1
        for _ in tf.range(3):
            if y > 2:
                break
    else:
        y = y - 100
    return y


def for_else_without_break(x: Any) -> Any:
    y = tf.reduce_sum(x)
    for i in tf.range(3):
        y += tf.cast(i, tf.float32)
    else:
        y = -y
    return y


def while_else(x: Any) -> Any:
    y = tf.reduce_sum(x)
    while y < 5:
        y += 2
        if y == 5:
            break
    else:
        y = -y
    return y


def nested_conditionals(x: Any) -> Any:
    y = tf.reduce_sum(x)
    a = (y if y > 1 else -y) if y < 5 else (y * 3 if y < 7 else y * 4)
    return a + (y if y < 0 else 1.0)


def nested_conditional_within(x: Any) -> Any:
    y = tf.reduce_sum(x)
    return tf.abs(y if y > 5 else (y * 2 if y > 1 else y * 3)) + 1


def functions_that_say_nothing(x: Any) -> Any:
    def nothing(z: Any) -> None: ...

    class Shape:
        def area(self) -> None:
            """Is said by the shapes below it."""

    if tf.reduce_sum(x) > 1:
        x = x * 2
    return x if nothing(x) is None and Shape().area() is None else -x


FUNCTIONS = [each for each in list(globals().values()) if isinstance(each, FunctionType)]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_it_computes_what_python_computes(fn: Callable[..., Any]) -> None:
    traced = nbfn.function(fn)
    for values in ([1.0, 2.0], [3.0, 3.0], [-3.0, -3.0], [-9.0, 1.0], [0.5, 0.0], [-1.0, 2.0]):
        x = tf.constant(values)
        eager = tf.nest.map_structure(
            lambda leaf: tf.convert_to_tensor(leaf).numpy().tolist(), fn(x)
        )
        got = tf.nest.map_structure(lambda leaf: leaf.numpy().tolist(), traced(x))
        assert got == eager
    assert len(traced.traces) == 1


def test_other_values_take_other_cases() -> None:
    traced = nbfn.function(match_python)
    x = tf.constant([1.0, 2.0])
    for kind in ("half", "double", "twice", None, 4.0):
        assert traced(x, kind).numpy().tolist() == match_python(x, kind).numpy().tolist()


# What would change its meaning ------------------------------------------------------------


def noted_before(x: Any, seen: list[int]) -> Any:
    y = note(seen, 1) + (z := note(seen, 2))
    return x * (y + z)


def note(seen: list[int], number: int) -> int:
    seen.append(number)
    return number


def reads_the_old_value(x: Any) -> Any:
    y = x
    y = y + (y := x * 2)
    return y * 1


def adds_to_the_old_value(x: Any) -> Any:
    y = x
    y += (y := x * 2)
    return y


def only_if_needed(x: Any, seen: list[int]) -> Any:
    if seen and (first := note(seen, 7)):
        x = x * first
    return x


def continued(x: Any) -> Any:
    n = 0
    while (m := n * 2) < 10:
        n += 1
        if n == 2:
            continue
        x = x + m
    return x


@pytest.mark.parametrize("fn", [reads_the_old_value, adds_to_the_old_value, continued])
def test_the_order_of_reads_and_writes_stays(fn: Callable[..., Any]) -> None:
    x = tf.constant([1.0, 2.0])
    assert nbfn.function(fn)(x).numpy().tolist() == fn(x).numpy().tolist()


def test_the_order_of_calls_stays() -> None:
    x, seen = tf.constant([1.0, 2.0]), [0]
    for fn, expected in ((noted_before, [1, 2]), (only_if_needed, [])):
        seen.clear()
        nbfn.function(lambda x, fn=fn: fn(x, seen), on_stale="ignore")(x)
        assert seen == expected


# Where it happens ---------------------------------------------------------------------------


def fails_late(x: Any) -> Any:
    if (y := x * 2)[0] > 1:
        x = tf.reshape(y, [3, 3])  # fails
    return x


def test_an_error_names_the_line() -> None:
    with pytest.raises(ValueError, match="reshape") as raised:
        nbfn.function(fails_late)(tf.constant([1.0, 2.0]))
    text = "".join(traceback.format_exception(raised.value))
    line = fails_late.__code__.co_firstlineno + 2
    assert f'test_autograph.py", line {line}, in fails_late' in text


def plain(x: Any) -> Any:
    if (y := x * 2)[0] > 1:
        return y
    return x


def test_tf_function_stays_what_it_is() -> None:
    assert nbfn.function(plain)(tf.constant([1.0])) == 2.0
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        tf.function(plain)(tf.constant([1.0]))


def test_what_a_function_calls_is_converted_as_tensorflow_does() -> None:
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="in plain"):
        nbfn.function(lambda x: plain(x) + 1)(tf.constant([1.0]))


def test_methods_are_converted_and_die_with_their_owner() -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = tf.Variable(2.0)

        @nbfn.function
        def __call__(self, x: Any) -> Any:
            if (total := tf.reduce_sum(x)) > 1:
                return total * self.weight
            return total

    model = Model()
    assert [float(model(tf.constant([x, 1.0]))) for x in (3.0, -1.0)] == [8.0, 0.0]
    dead = weakref.ref(model)
    del model
    gc.collect()
    assert dead() is None


def test_without_tensorflows_transpiler_it_is_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbfn._tensorflow.autograph.conversion._CAN_CONVERT", False)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        nbfn.function(plain)(tf.constant([1.0]))
