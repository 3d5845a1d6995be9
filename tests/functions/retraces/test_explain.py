"""Why a call retraced: one test for each cause, with old and new, and the remedy."""

from __future__ import annotations

import collections

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions import Cause

Pair = collections.namedtuple("Pair", "left right")


def miss(*calls: tuple, **options: object) -> tuple[Cause, ...]:
    """Makes calls, each a tuple of arguments, and returns the causes of the last retrace."""
    f = nbfn.function(lambda *args: tf.constant(0), **options)
    for call in calls:
        f(*call)
    return f.retraces[-1].causes


def only(*calls: tuple) -> Cause:
    causes = miss(*calls)
    assert len(causes) == 1, causes
    return causes[0]


def named(function, *calls: dict) -> Cause:
    f = nbfn.function(function)
    for call in calls:
        f(**call)
    (cause,) = f.retraces[-1].causes
    return cause


def test_shape() -> None:
    cause = named(lambda images: 0, {"images": tf.ones([64, 8])}, {"images": tf.ones([37, 8])})
    assert (cause.code, cause.path) == ("shape", "images")
    assert cause.sentence == "`images`: shape was (64, 8), is (37, 8)"


def test_rank() -> None:
    cause = named(lambda x: 0, {"x": tf.ones([2])}, {"x": tf.ones([2, 1])})
    assert (cause.code, cause.old, cause.new) == ("rank", "1 (2,)", "2 (2, 1)")


def test_dtype() -> None:
    cause = named(lambda x: 0, {"x": tf.ones([2])}, {"x": tf.ones([2], tf.float64)})
    assert (cause.code, cause.old, cause.new) == ("dtype", "float32", "float64")


def test_python_value() -> None:
    cause = named(lambda step: 0, {"step": 1}, {"step": 2})
    assert (cause.code, cause.old, cause.new) == ("python_value", "1", "2")


def test_python_type() -> None:
    cause = named(lambda step: 0, {"step": 1}, {"step": 1.0})
    assert (cause.code, cause.old, cause.new) == ("python_type", "int 1", "float 1.0")


def test_a_drift_of_values_is_told_from_a_single_change() -> None:
    cause = named(lambda step: 0, *({"step": n} for n in range(4)))
    assert "4 different values so far: 0, 1, 2, 3" in cause.sentence


def test_a_tensor_is_no_value_of_a_drift() -> None:
    cause = named(lambda n: 0, {"n": tf.constant(1)}, *({"n": n} for n in range(3)))
    assert "3 different values so far: 0, 1, 2)" in cause.sentence


def test_structure_of_a_list() -> None:
    cause = named(lambda xs: 0, {"xs": [1, 2]}, {"xs": [1, 2, 3]})
    assert (cause.code, cause.old, cause.new) == ("structure", "list of 2", "list of 3")


def test_structure_of_a_dict() -> None:
    cause = named(lambda d: 0, {"d": {"a": 1}}, {"d": {"b": 1}})
    assert (cause.code, cause.path, cause.old) == ("structure", "d", "dict with 'a'")


def test_a_tensor_in_place_of_a_number() -> None:
    cause = named(lambda x: 0, {"x": 1}, {"x": tf.constant(1)})
    assert (cause.code, cause.old, cause.new) == ("python_type", "int 1", "int32[]")


def test_paths_into_nested_arguments() -> None:
    old = {"images": [tf.ones([2]), Pair(tf.ones([3]), 1)]}
    new = {"images": [tf.ones([2]), Pair(tf.ones([4]), 1)]}
    cause = named(lambda batch: 0, {"batch": old}, {"batch": new})
    assert cause.path == "batch['images'][1].left"


def test_every_differing_leaf_is_listed() -> None:
    f = nbfn.function(lambda x, y, n: 0)
    f(tf.ones([2]), tf.ones([2]), 1)
    f(tf.ones([3]), tf.ones([4]), 2)
    assert [(c.code, c.path) for c in f.retraces[0].causes] == [
        ("shape", "x"),
        ("shape", "y"),
        ("python_value", "n"),
    ]


def test_object_identity() -> None:
    class Options:
        pass

    first, second = Options(), Options()
    cause = named(lambda options: 0, {"options": first}, {"options": second})
    assert (cause.code, cause.old) == ("object_identity", "Options object")
    f = nbfn.function(lambda options: 0)
    f(Options())
    f(Options())
    assert f.retraces[0].causes[0].old.endswith("(gone)")


def test_aliased_variables() -> None:
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    f = nbfn.function(lambda v, w: v + w)
    f(a, b)
    f(a, a)
    assert [cause.code for cause in f.retraces[0].causes] == ["alias"]


def test_a_ragged_tensor_in_place_of_a_dense_one() -> None:
    cause = named(
        lambda x: 0, {"x": tf.ones([2, 2])}, {"x": tf.ragged.constant([[1.0], [2.0, 3.0]])}
    )
    assert cause.code == "python_type"
    assert cause.new is not None
    assert cause.new.startswith("Ragged")


def test_another_graph_is_another_context() -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.constant(1))
    with tf.Graph().as_default():
        f(tf.constant(1))
    assert [cause.code for cause in f.retraces[0].causes] == ["context"]


def test_defaults_and_keywords_are_no_retrace() -> None:
    f = nbfn.function(lambda x, n=3: x + n)
    f(tf.constant(1))
    f(tf.constant(1), 3)
    f(x=tf.constant(1), n=3)
    assert (len(f.traces), f.retraces) == (1, ())


def test_all_nearest_traces_are_named_and_the_newest_explains() -> None:
    f = nbfn.function(lambda x, y: 0)
    f(tf.ones([1]), tf.ones([1]))
    f(tf.ones([2]), tf.ones([2]))
    f(tf.ones([1]), tf.ones([2]))
    retrace = f.retraces[-1]
    assert retrace.nearest == (1, 2)
    assert [cause.path for cause in retrace.causes] == ["x"]


def test_the_nearest_trace_is_compared_not_the_last() -> None:
    f = nbfn.function(lambda x, mode: 0)
    f(tf.ones([4, 2]), "train")
    f(tf.ones([9]), "test")
    f(tf.ones([5, 2]), "train")
    assert [cause.code for cause in f.retraces[-1].causes] == ["shape"]
    assert f.retraces[-1].nearest == (1,)


def test_the_site_is_the_users_line() -> None:
    f = nbfn.function(lambda x: x)
    f(tf.ones([1]))
    f(tf.ones([2]))
    site = f.retraces[0].site
    assert site.file == __file__
    assert site.line == test_the_site_is_the_users_line.__code__.co_firstlineno + 3


def test_new_code_under_the_same_name() -> None:
    namespace: dict = {"nbfn": nbfn, "__name__": "some_notebook"}
    exec("@nbfn.function\ndef f(x): return x + 1", namespace)
    namespace["f"](tf.constant(1))
    assert namespace["f"].traces[0].cause.code == "first_trace"
    exec("@nbfn.function\ndef f(x): return x + 2", namespace)
    namespace["f"](tf.constant(1))
    assert namespace["f"].traces[0].cause.code == "new_code"
    exec("@nbfn.function\ndef f(x): return x + 2", namespace)
    namespace["f"](tf.constant(1))
    assert "same code" in namespace["f"].traces[0].cause.sentence


def test_the_remedy_for_shapes_works_when_pasted() -> None:
    @nbfn.function
    def train_step(images, labels):
        return tf.reduce_mean(images) + tf.cast(tf.reduce_sum(labels), tf.float32)

    def epoch() -> None:
        for size in (64, 64, 37):
            train_step(tf.ones([size, 8]), tf.ones([size], tf.int32))

    epoch()
    remedy = train_step.retraces[-1].remedy
    assert remedy is not None
    assert remedy.sentence == "Let one trace serve every size of `images` and `labels`"
    exec(remedy.code, {"train_step": train_step})
    before = train_step.calls, train_step.hits
    epoch()
    train_step(tf.ones([5, 8]), tf.ones([5], tf.int32))
    assert len(train_step.retraces) == 1
    assert train_step.hits - before[1] == train_step.calls - before[0] == 4
    assert len(train_step.traces) == 1


def test_the_remedy_names_the_function_as_code_can() -> None:
    class Model(tf.Module):
        @nbfn.function
        def step(self, x):
            return x

    def remedy(f) -> tuple:
        f(tf.ones([1]))
        f(tf.ones([2]))
        remedy = f.retraces[0].remedy
        return remedy.code, "give the function a name" in remedy.sentence

    namespace: dict = {"Model": Model, "nbfn": nbfn, "__name__": "notebook"}
    exec("model = Model()\nother = nbfn.function(lambda x: x)\ndef plain(x): return x", namespace)
    assert remedy(namespace["other"]) == ("other.relax()", False)
    assert remedy(nbfn.function(namespace["plain"])) == ("plain.relax()", False)
    assert remedy(nbfn.function(lambda x: x)) == (None, True)
    assert remedy(Model().step) == (None, True)


@pytest.mark.parametrize(
    ("old", "new", "advice"),
    [
        (1, 2, "tf.constant"),
        ("a", "b", "right for a switch with few values"),
        (True, False, "right for a switch with few values"),
        (tf.ones([1]), tf.ones([1], tf.float16), "tf.cast"),
        (tf.ones([1]), tf.ones([1, 1]), "tf.expand_dims"),
        ([1], [1, 1], "with the same length, as list of 1"),
    ],
)
def test_each_cause_has_its_advice(old: object, new: object, advice: str) -> None:
    f = nbfn.function(lambda x: 0)
    f(old)
    f(new)
    remedy = f.retraces[0].remedy
    assert remedy is not None
    assert advice in remedy.sentence


def test_the_limit_warns_once_with_the_cause() -> None:
    f = nbfn.function(lambda step: tf.constant(step), max_traces=2)
    f(0)
    f(1)
    told = "has 3 traces.*`step`: Python value was 1, is 2"
    with pytest.warns(nbfn.NbfnWarning, match=told) as warned:
        f(2)
    assert (warned[0].filename, f.retraces[-1].site.line) == (__file__, warned[0].lineno)
    f(3)


def test_the_limit_raises_before_the_trace_is_made() -> None:
    f = nbfn.function(lambda step: tf.constant(step), max_traces=1, on_limit="raise")
    f(0)
    with pytest.raises(nbfn.TraceLimitError, match="max_traces is 1"):
        f(1)
    assert (f.calls, len(f.traces)) == (1, 1)
    assert f(0).numpy() == 0


def test_at_the_limit_a_call_can_run_eagerly() -> None:
    ran_eagerly = []

    @nbfn.function(max_traces=1, on_limit="eager")
    def f(step):
        ran_eagerly.append(tf.executing_eagerly())
        return tf.constant(step)

    assert [f(n).numpy() for n in (0, 1, 2, 0)] == [0, 1, 2, 0]
    assert ran_eagerly == [False, True, True]
    assert len(f.traces) == 1
