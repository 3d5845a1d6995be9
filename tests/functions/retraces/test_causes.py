"""Each cause of a trace or a retrace has a code of its own, with old, new, and what to do."""

from __future__ import annotations

import collections
import types
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.protocol import CauseCode


def only(f: Any) -> Any:
    """The one cause of the newest retrace."""
    (cause,) = f.retraces[-1].causes
    return cause


def twice(f: Any, *calls: Any) -> Any:
    for arguments in calls:
        f(*arguments)
    return f


@pytest.mark.parametrize(
    ("first", "second", "code", "old", "new"),
    [
        (tf.ones([2, 3]), tf.ones([2, 4]), "shape", "[2, 3]", "[2, 4]"),
        (tf.ones([2]), tf.ones([2, 1]), "rank", "1 [2]", "2 [2, 1]"),
        (tf.ones([2]), tf.ones([2], tf.int32), "dtype", "float32", "int32"),
        ([tf.ones([2])], [tf.ones([2])] * 2, "structure", "list of 1", "list of 2"),
        ({"a": tf.ones([])}, {"b": tf.ones([])}, "structure", "dict with 'a'", "dict with 'b'"),
        ([tf.ones([])], (tf.ones([]),), "structure", "list of 1", "tuple of 1"),
        (3, 4, "python_value", "3", "4"),
        ("a", "b", "python_value", "'a'", "'b'"),
        (1, 1.0, "python_type", "int 1", "float 1.0"),
        (1, True, "python_type", "int 1", "True"),
        (0.0, -0.0, "python_value", "0.0", "-0.0"),
        (None, "a", "python_type", "None", "str 'a'"),
        (tf.ones([]), 3, "python_type", "float32[]", "int 3"),
        (np.ones([2]), np.ones([3]), "shape", "[2]", "[3]"),
        (tf.ones([2]), tf.sparse.eye(2), "python_type", "float32[2]", "SparseTensor float32[2, 2]"),
    ],
)
def test_differences_between_arguments(
    first: Any, second: Any, code: str, old: str, new: str
) -> None:
    cause = only(twice(nbfn.function(lambda x: 1), (first,), (second,)))
    assert (cause.code, cause.old, cause.new) == (code, old, new)
    assert cause.path is not None
    assert cause.path.startswith("x")


Pair = collections.namedtuple("Pair", "left right")


class Point(tf.experimental.ExtensionType):
    at: tf.Tensor
    names: tuple[str, ...] = ()


def numbers(size: int, short: bool = False, as_dict: bool = False) -> tf.data.Dataset:
    made = tf.data.Dataset.range(6).batch(size, drop_remainder=short)
    return made.map(lambda each: {"a": each, "b": 1}) if as_dict else made


@pytest.mark.parametrize(
    ("first", "second", "code", "path", "old", "new"),
    [
        (numbers(2, True), numbers(2), "shape", "x.element_spec", "[2]", "[None]"),
        (numbers(2, True, True), numbers(3, True, True), "shape", "['a']", "[2]", "[3]"),
        (iter(numbers(2, True)), iter(numbers(2)), "shape", "x.element_spec", "[2]", "[None]"),
        (numbers(2), iter(numbers(2)), "structure", "x", "Dataset", "Iterator"),
        (Point(tf.ones([2])), Point(tf.ones([3])), "shape", "x.at", "[2]", "[3]"),
        (Point(1, ("a",)), Point(1, ("b",)), "python_value", "x.names[0]", "'a'", "'b'"),
        ([Point(1.0)], [Point(1)], "dtype", "x[0].at", "float32", "int32"),
        (
            {"a": [1, Pair(tf.ones([3]), 1)]},
            {"a": [1, Pair(tf.ones([4]), 1)]},
            *("shape", "x['a'][1].left", "[3]", "[4]"),
        ),
        (
            tf.experimental.Optional.from_value(tf.ones([2])),
            tf.experimental.Optional.from_value(tf.ones([3])),
            *("shape", "x.element_spec", "[2]", "[3]"),
        ),
        (
            tf.ragged.constant([[1]]),
            tf.ragged.constant([[1]], row_splits_dtype=tf.int32),
            *("structure", "x", "tf.int64", "tf.int32"),
        ),
    ],
)
def test_the_one_part_that_differs(
    first: Any, second: Any, code: str, path: str, old: str, new: str
) -> None:
    cause = only(twice(nbfn.function(lambda x: 1), (first,), (second,)))
    assert cause.code == code
    assert cause.path.endswith(path)
    assert (cause.old, cause.new) == (old, new)


def test_every_difference_of_a_leaf_and_of_all_leaves() -> None:
    f = nbfn.function(lambda x, y: 1)
    twice(f, (tf.ones([2]), 1), (tf.ones([3], tf.int32), "a"))
    reported = [(cause.code, cause.path) for cause in f.retraces[-1].causes]
    assert reported == [("dtype", "x"), ("shape", "x"), ("python_type", "y")]


def test_two_strategies_of_one_class() -> None:
    f = nbfn.function(lambda x: x + 1)
    strategies = [tf.distribute.OneDeviceStrategy("CPU:0") for _ in range(2)]
    for strategy in (*strategies, strategies[0]):
        with strategy.scope():
            f(tf.constant(1.0))
    assert only(f).sentence == (
        "the strategy was OneDeviceStrategy, is another OneDeviceStrategy object"
    )
    assert (f.hits, len(f.traces)) == (1, 2)


def test_another_object_and_one_that_is_gone() -> None:
    class Thing:
        pass

    f = nbfn.function(lambda x: 1)
    kept = Thing()
    twice(f, (kept,), (Thing(),))
    assert only(f).code == "object_identity"
    f(kept)
    assert f.hits == 1
    f(Thing())
    assert only(f).sentence == "`x` is another Thing"
    assert "Make the object of `x` once" in f.retraces[-1].remedy.sentence


def test_aliased_variables() -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    f = twice(nbfn.function(lambda a, b: a + b), (v, w), (w, v), (v, v))
    assert only(f).code == "alias"
    assert f.hits == 1


def test_a_graph_as_context() -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.constant(1.0))
    with tf.Graph().as_default():
        f(tf.constant(1.0))
    assert only(f).code == "context"
    assert "called eagerly, is called in a tf.Graph" in only(f).sentence


def test_a_strategy_as_context() -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.constant(1.0))
    with tf.distribute.OneDeviceStrategy("CPU:0").scope():
        f(tf.constant(1.0))
    assert only(f).code == "strategy"


def test_widened_by_reduce_retracing() -> None:
    f = nbfn.function(lambda x: tf.reduce_sum(x), reduce_retracing=True)
    twice(f, (tf.ones([2]),), (tf.ones([3]),), (tf.ones([4]),))
    shape, widened = f.retraces[0].causes
    assert (shape.code, widened.code) == ("shape", "widened")
    assert (widened.old, widened.new) == ("[3]", "[None]")
    assert f.retraces[0].remedy is None
    assert f.hits == 1


def test_many_tensors_of_an_argument_are_widened_in_one_cause() -> None:
    f = nbfn.function(lambda batch: tf.add_n(list(batch.values())), reduce_retracing=True)
    for size in (2, 3, 4):
        f({name: tf.ones([size]) for name in "abcd"})
    shape, widened = f.retraces[0].causes
    assert (shape.code, shape.path) == ("shape", "batch")
    assert (widened.code, widened.path) == ("widened", "batch")
    assert f.retraces[0].remedy is None
    assert f.hits == 1


def test_a_new_function_object_with_the_same_code_and_new_code() -> None:
    space: dict[str, Any] = {"tf": tf, "nbfn": nbfn, "__name__": "__main__"}
    made = []
    for code in ("x", "x", "x + 1"):
        exec(f"@nbfn.function\ndef redefined_here(x): return {code}", space)
        made.append(space["redefined_here"])
        made[-1](tf.constant(1.0))
    codes = [each.traces[0].cause.code for each in made]
    assert codes == ["first_trace", "new_function", "new_code"]


def test_the_trace_before_failed() -> None:
    state = {"fails": True}

    @nbfn.function(autograph=False)
    def f(x: Any) -> Any:
        if state["fails"]:
            raise KeyError("no")
        return x

    with pytest.raises(KeyError):
        f(tf.constant(1.0))
    state["fails"] = False
    f(tf.constant(1.0))
    assert f.traces[0].cause.code == "after_failure"
    assert f.calls == 1


def test_a_failed_call_does_not_hide_the_cause() -> None:
    class Model:
        def __init__(self) -> None:
            self.weight = tf.Variable([1.0, 2.0])

    model = Model()
    f = nbfn.function(lambda x: x * model.weight)
    f(tf.ones([2]))
    model = Model()
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        f(tf.ones([3]))
    f(tf.ones([2]))
    assert len(f.retraces) == 1
    assert only(f).sentence == "closure `model` is another Model"


def test_another_module_is_said_to_be_one() -> None:
    settings = types.ModuleType("settings")
    vars(settings)["rate"] = 2.0
    f = nbfn.function(lambda x: x * settings.rate)
    f(tf.constant(1.0))
    settings = types.ModuleType("settings")
    vars(settings)["rate"] = 3.0
    assert float(f(tf.constant(1.0))) == 3.0
    assert only(f).sentence == "closure `settings` is another module settings"
    assert "tf.Variable" not in str(f.retraces[-1])


def test_requested_and_saved_traces(tmp_path: Any) -> None:
    module = tf.Module()
    module.f = nbfn.function(lambda x: x + 1)
    module.f(tf.ones([2]))
    module.f.get_concrete_function(tf.ones([3]))
    assert module.f.traces[1].cause.code == "requested"
    assert module.f.retraces == ()
    tf.saved_model.save(module, str(tmp_path))
    assert len(module.f.traces) == 2


def test_xla_compiles_again_without_a_trace() -> None:
    f = nbfn.function(tf.reduce_sum, jit_compile=True, input_signature=[(tf.float32, [None])])
    for size in (1, 2, 1, 2, 3):
        f(tf.ones([size]))
    assert len(f.traces) == 1
    assert [retrace.causes[0].code for retrace in f.retraces] == ["xla_compile"] * 2
    assert "for (2,)" in f.retraces[0].causes[0].sentence
    assert f.retraces[0].trace_seconds > 0
    assert (f.calls, f.hits) == (5, 4)


def test_every_nearest_trace_and_every_difference_is_reported() -> None:
    f = nbfn.function(lambda a, b: 1)
    twice(f, (1, tf.ones([2])), (2, tf.ones([3])), (1, tf.ones([3])))
    assert f.retraces[-1].nearest == (1, 2)
    f(5, tf.ones([7, 7]))
    assert [cause.path for cause in f.retraces[-1].causes] == ["a", "b"]


def test_every_code_is_one_of_the_protocols() -> None:
    from typing import get_args

    from nbfn.functions.retraces import explain as retrace
    from nbfn.functions.retraces import remedy
    from nbfn.functions.retraces import trace_causes as causes

    known = set(get_args(CauseCode))
    assert set(retrace._WEIGHT) <= known
    assert set(remedy._ADVICE) <= known
    constants = [value for value in vars(causes).values() if isinstance(value, retrace.Cause)]
    assert {cause.code for cause in constants} <= known


def test_another_object_is_one_cause_whatever_it_holds() -> None:
    class Inner:
        def __init__(self, rate: float) -> None:
            self.rate = rate

    class Model:
        def __init__(self, rate: float) -> None:
            self.inner, self.scale = Inner(rate), tf.Variable(rate)

    class Other:
        def __init__(self) -> None:
            self.inner, self.scale, self.kind = Inner(4.0), tf.Variable(1.0), "other"

    model: Any = Model(1.0)
    f = nbfn.function(lambda x: x * model.inner.rate * model.scale)
    f(1.0)
    model = Model(2.0)
    f(1.0)
    assert only(f).sentence == "closure `model` is another Model"
    assert f.retraces[-1].remedy is None
    model.inner = Inner(3.0)
    f(1.0)
    assert only(f).sentence == "attribute `model.inner` is another Inner"
    model.inner.rate = 4.0
    f(1.0)
    assert only(f).sentence == "attribute `model.inner.rate` was 3.0, is 4.0"
    model = Other()
    f(1.0)
    assert only(f).sentence == "closure `model` was a Model object, is an Other object"


def test_the_remedies_of_several_causes_are_short() -> None:
    space: dict[str, Any] = {"__name__": "__main__", "tf": tf, "nbfn": nbfn}
    space.update(dict.fromkeys("abcde", 1.0), u=tf.Variable(1.0), w=tf.Variable(1.0))
    exec("f = nbfn.function(lambda x: x * u * w + a + b + c + d + e)", space)
    f = space["f"]
    f(1.0)
    space.update(dict.fromkeys("abcde", 2.0), u=tf.Variable(1.0), w=tf.Variable(2.0))
    f(1.0)
    (retrace,) = f.retraces
    assert len(retrace.causes) == 7
    assert "; and 4 more. " in repr(retrace)
    assert retrace.remedy.sentence == (
        "Pass `a`, `b`, `c` and 2 more as arguments, or keep each in a tf.Variable that you assign "
        "to; then assign to `u` and `w`, as in u.assign(…), instead of making a new variable"
    )
    model, other = Thing(), Thing()
    g = nbfn.function(lambda x, y: 1)
    g(model, other)
    g(Thing(), Thing())
    assert g.retraces[-1].remedy.sentence.startswith(
        "Make the objects of `x` and `y` once and pass"
    )


class Thing:
    pass


def test_many_shapes_in_one_argument_are_one_cause() -> None:
    def variables(units: int) -> dict[str, tf.Tensor]:
        return {"w": tf.ones([3, units]), "b": tf.ones([units]), "v": tf.ones([units, 1])}

    f = twice(nbfn.function(lambda of: of["w"]), (variables(4),), (variables(2),))
    assert only(f).path == "of"
    assert only(f).sentence.startswith("3 shapes in `of` differ, such as `of[")
    assert f.retraces[-1].remedy.sentence.startswith("Let one trace serve every size of `of`")


def test_objects_in_a_container_are_named_by_their_classes() -> None:
    class Thing:
        rate = 1.0

    space: dict[str, Any] = {"__name__": "__main__", "things": {"a": Thing()}}
    exec("def f(x):\n    return sum(each.rate for each in things.values()) * x", space)
    f = nbfn.function(space["f"], autograph=False)
    f(tf.constant(1.0))
    space["things"]["b"] = Thing()
    f(tf.constant(1.0))
    assert only(f).sentence == "global `things` was {'a': a Thing}, is {'a': a Thing, 'b': a Thing}"


def test_an_argument_that_only_some_calls_pass() -> None:
    f = nbfn.function(lambda **tensors: tuple(tensors.values()))
    one = tf.ones([])
    f(a=one)
    f(a=one, b=one)
    assert only(f).sentence == "`b` is passed, unlike before"
    assert str(f.retraces[-1].remedy) == "Pass `b` in each call, or in none"
    f()
    assert [each.sentence for each in f.retraces[-1].causes] == ["`a` is not passed, unlike before"]
