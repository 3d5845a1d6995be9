"""Loops that say how far they are, eager and in graphs, change nothing else."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.progress import ProgressError, graph_loops
from nbfn.underway.work import under_way
from tests.harness.messages import raises


@pytest.fixture(autouse=True)
def no_loops_of_other_tests():
    gc.collect()
    before = {id(loop) for loop in graph_loops()}
    return lambda: [loop for loop in graph_loops() if id(loop) not in before]


def test_a_python_loop_counts_while_it_runs_and_is_gone_after_it() -> None:
    seen = []
    for each in nbfn.progress("abc", "letters", unit="letters"):
        [work] = under_way()
        seen.append((each, work.name, work.unit, work.done, work.total))
    assert seen == [
        ("a", "letters", "letters", 0, 3),
        *((each, "letters", "letters", i + 1, 3) for i, each in enumerate("bc")),
    ]
    assert under_way() == ()


def test_a_loop_that_is_left_early_or_fails_is_gone() -> None:
    for _ in nbfn.progress(range(3)):
        break
    gc.collect()
    with pytest.raises(ZeroDivisionError):
        [1 / each for each in nbfn.progress(range(3))]
    gc.collect()
    assert under_way() == ()


def test_what_has_no_length_counts_without_a_total() -> None:
    for _ in nbfn.progress(iter(range(2))):
        assert under_way()[0].total is None
    endless = tf.data.Dataset.range(3).repeat()
    for _ in nbfn.progress(endless):
        assert under_way()[0].total is None
        break


def test_it_is_as_long_as_what_it_was_made_of() -> None:
    assert len(nbfn.progress(tf.data.Dataset.range(6).batch(4))) == 2
    assert len(nbfn.progress(tf.zeros([5, 2]))) == 5
    with raises(TypeError):
        len(nbfn.progress(iter([])))


def test_eager_tensors_and_datasets_give_their_elements() -> None:
    assert [int(x) for x in nbfn.progress(tf.range(3))] == [0, 1, 2]
    assert [int(x) for x in nbfn.progress(tf.data.Dataset.range(3))] == [0, 1, 2]


@pytest.mark.parametrize("make", [nbfn.function, tf.function])
def test_a_loop_over_a_range_stays_in_the_graph_and_counts(make, no_loops_of_other_tests) -> None:
    @make
    def total(n):
        result = 0
        for i in nbfn.progress(tf.range(n), "summing"):
            result += i
        return result

    assert int(total(tf.constant(5))) == 10
    [loop] = no_loops_of_other_tests()
    assert (loop.name, loop.unit, loop.extent()) == ("summing", "steps", (5, 5))
    assert int(total(tf.constant(7))) == 21
    assert loop.extent() == (7, 7)
    graph = total.get_concrete_function(tf.constant(7)).graph
    assert "StatelessWhile" in {op.type for op in graph.get_operations()} or "While" in {
        op.type for op in graph.get_operations()
    }
    assert graph.captures == []


def test_a_loop_that_breaks_says_how_far_it_came(no_loops_of_other_tests) -> None:
    @nbfn.function
    def first_over(values, limit):
        found = -1.0
        for value in nbfn.progress(values):
            if value > limit:
                found = value
                break
        return found

    assert float(first_over(tf.constant([1.0, 5.0, 3.0, 2.0]), tf.constant(4.0))) == 5.0
    [loop] = no_loops_of_other_tests()
    done, size = loop.extent()
    assert done in (1, 2)
    assert size == 4


def test_a_loop_over_a_dataset_counts(no_loops_of_other_tests) -> None:
    @nbfn.function
    def total(dataset):
        result = tf.constant(0, tf.int64)
        for each in nbfn.progress(dataset):
            result += tf.reduce_sum(each)
        return result

    assert int(total(tf.data.Dataset.range(10).batch(3))) == 45
    assert no_loops_of_other_tests()[0].extent() == (4, 4)
    unknown = tf.data.Dataset.range(10).filter(lambda x: x > 2).batch(3)
    assert int(total(unknown)) == 42
    assert [loop.extent() for loop in no_loops_of_other_tests()] in (
        [(3, None)],
        [(4, 4), (3, None)],
    )


def test_gradients_are_those_of_the_loop_itself() -> None:
    weight = tf.Variable([[0.5, 0.1], [0.2, 0.3]])

    def power(loop, n):
        x = tf.eye(2)
        for _ in loop(tf.range(n)):
            x = tf.tanh(x @ weight)
        return tf.reduce_sum(x)

    found = []
    for loop in (nbfn.progress, lambda known: known):
        f = nbfn.function(lambda n, loop=loop: power(loop, n))
        with tf.GradientTape() as tape:
            value = f(tf.constant(4))
        found.append((value.numpy(), tape.gradient(value, weight).numpy()))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_loops_within_loops_each_count(no_loops_of_other_tests) -> None:
    @nbfn.function
    def steps(n):
        count = 0
        for _ in nbfn.progress(tf.range(n), "epochs"):
            for _ in nbfn.progress(tf.range(3), "batches"):
                count += 1
        return count

    assert int(steps(tf.constant(4))) == 12
    assert {loop.name: loop.extent() for loop in no_loops_of_other_tests()} == {
        "epochs": (4, 4),
        "batches": (3, 3),
    }


def test_a_python_loop_is_unrolled_as_ever_while_it_is_traced(no_loops_of_other_tests) -> None:
    seen = []

    @nbfn.function
    def layers(x):
        for i in nbfn.progress([1.0, 2.0], "layers"):
            seen.extend((work.name, work.done, work.total) for work in under_way())
            x = x * i
        return x

    assert float(layers(tf.constant(3.0))) == 6.0
    assert seen == [("layers", 0, 2), ("layers", 1, 2)]
    assert no_loops_of_other_tests() == []
    assert under_way() == ()


def test_what_xla_compiles_runs_without_counting(no_loops_of_other_tests) -> None:
    def total(n):
        result = 0
        for i in nbfn.progress(tf.range(n)):
            result += i
        return result

    inner = nbfn.function(total)

    @nbfn.function(jit_compile=True)
    def outer(n):
        return inner(n) + 1

    compiled = nbfn.function(total, jit_compile=True)
    assert int(compiled(tf.constant(5))) == 10
    assert int(outer(tf.constant(5))) == 11
    assert no_loops_of_other_tests() == []


def test_loops_go_with_their_graph(no_loops_of_other_tests) -> None:
    def once():
        @nbfn.function
        def f(n):
            for _ in nbfn.progress(tf.range(n)):
                pass
            return n

        f(tf.constant(2))
        assert len(no_loops_of_other_tests()) == 1

    once()
    gc.collect()
    assert no_loops_of_other_tests() == []


def test_one_made_outside_serves_every_call_without_retracing() -> None:
    steps = nbfn.progress(tf.range(4), "steps")

    @nbfn.function
    def total(start):
        for i in steps:
            start += i
        return start

    for start in (0, 1, 2):
        assert int(total(tf.constant(start))) == start + 6
    assert len(total.traces) == 1


def counted_on_replicas() -> tuple[list[int], list[Any]]:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    @nbfn.function
    def step(n):
        total = 0
        for i in nbfn.progress(tf.range(n)):
            total += i
        return total

    @nbfn.function
    def both(n):
        return strategy.run(step, args=(n,))

    totals = [int(each) for each in both(tf.constant(5)).values]
    return totals, [loop.extent() for loop in graph_loops()]


def test_replicas_count_once(on_two_devices) -> None:
    assert on_two_devices(counted_on_replicas) == ([10, 10], [(5, 5)])


def test_it_can_be_saved_and_exported(tmp_path) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def total(self, n):
            result = 0
            for i in nbfn.progress(tf.range(n)):
                result += i
            return result

    tf.saved_model.save(Model(), str(tmp_path / "plain"))
    assert int(tf.saved_model.load(str(tmp_path / "plain")).total(tf.constant(4))) == 6

    @nbfn.function
    def product(n):
        result = 1
        for i in nbfn.progress(tf.range(n)):
            result *= i + 1
        return result

    product(tf.constant(4))
    exported = nbfn.export(tmp_path / "exported", product)
    assert exported.variables == ()
    assert [each.status for each in exported.verified] == ["equal"]


@pytest.mark.parametrize("wrong", [5, None, 2.5])
def test_what_cannot_be_looped_over_is_refused(wrong) -> None:
    with raises(ProgressError):
        nbfn.progress(wrong)
    with raises(TypeError):
        nbfn.progress(wrong)


def test_enumerate_and_zip_around_it_are_refused_in_a_graph() -> None:
    dataset = tf.data.Dataset.range(4)

    @nbfn.function
    def inside():
        result = tf.constant(0, tf.int64)
        for i, each in nbfn.progress(enumerate(dataset)):
            result += each * i
        return result

    @nbfn.function
    def outside():
        result = tf.constant(0, tf.int64)
        for i, each in enumerate(nbfn.progress(dataset)):
            result += each * i
        return result

    assert int(inside()) == 14
    with raises(TypeError):
        outside()


@pytest.mark.filterwarnings("ignore:To make it possible to preserve tf.data options")
def test_distributed_datasets_stay_in_the_graph(no_loops_of_other_tests) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(2))
    assert next(each.numpy().tolist() for each in nbfn.progress(batches)) == [0, 1]

    @nbfn.function
    def total(batches):
        result = tf.constant(0, tf.int64)
        for batch in nbfn.progress(batches):
            result += strategy.reduce("SUM", strategy.run(tf.reduce_sum, (batch,)), None)
        return result

    assert int(total(batches)) == 28
    assert [loop.extent() for loop in no_loops_of_other_tests()] == [(4, None)]


class _Table:
    cardinality = 3

    def __iter__(self):
        return iter("abc")


class _Lazy(_Table):
    def __len__(self):
        raise NotImplementedError


class _Squares:
    def __getitem__(self, i):
        return [0, 1, 4][i]


@pytest.mark.parametrize("each", [_Table(), _Lazy(), _Squares()], ids=["table", "lazy", "items"])
def test_whatever_python_loops_over(each) -> None:
    assert list(nbfn.progress(each)) == [part for part in each]  # noqa: C416


def test_elements_are_not_held() -> None:
    class Batch:
        pass

    freed = []
    for batch in nbfn.progress(Batch() for _ in range(3)):
        dead = weakref.ref(batch)
        del batch
        freed.append(dead() is None)
    assert freed == [True, True, True]
