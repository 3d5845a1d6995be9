"""`lines`: the time of a call by line, gradients at the line that is differentiated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.checking.check import CheckError


@pytest.fixture(scope="module", autouse=True)
def variables():
    """Variables of these tests: one that is older than a connection to servers is not written."""
    global weight
    weight = tf.Variable(tf.random.normal([300, 300]))


batch = tf.random.normal([300, 300])


@nbfn.function
def step(x):
    with tf.GradientTape() as tape:
        hidden = x @ weight  # product
        loss = tf.reduce_mean(tf.nn.relu(hidden))
        for _ in tf.range(3):
            loss += tf.reduce_sum(tf.linalg.matmul(x, x))  # loop
    gradient = tape.gradient(loss, weight)
    weight.assign_sub(gradient * 0.1)
    return loss


def line_of(mark):
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(f"# {mark}"))


def test_the_lines_of_a_step_have_its_time() -> None:
    before = weight.numpy()
    for _ in range(2):
        found = nbfn.lines(step, batch)
        assert isinstance(found, nbfn.LineTimes)
        known = {each.site.line: each for each in found.lines}
        times = [each.seconds for each in found.lines]
        assert times == sorted(times, reverse=True)
        product = known[line_of("product")]
        assert 0 < product.gradient_seconds < product.seconds
        assert product.text.startswith("hidden = x @ weight")
        assert known[line_of("loop")].executions == 3
        assert known[line_of("loop")].gradient_seconds == 0
        in_lines = sum(each.seconds for each in found.lines)
        assert 0 < in_lines <= found.seconds * 1.001
    assert (step.calls, len(step.traces)) == (0, 0)
    np.testing.assert_array_equal(weight.numpy(), before)


def test_compiled_and_plain_functions() -> None:
    compiled = nbfn.function(lambda x: tf.reduce_sum(x @ x), jit_compile=True)
    found = nbfn.lines(compiled, batch)
    assert found.lines
    assert "without XLA" in found.notes[0]
    assert nbfn.lines(tf.function(lambda x: x @ x), batch).lines[0].seconds > 0
    assert nbfn.lines(nbfn.watch(tf.function(lambda x: x @ x)), batch).lines


def test_a_function_that_creates_its_variables() -> None:
    made = []

    @nbfn.function
    def first(x):
        if not made:
            made.append(tf.Variable(2.0))
        return x * made[0]

    assert nbfn.lines(first, batch).lines
    assert not made
    assert float(first(tf.constant(1.0))) == 2.0


def test_what_is_no_function_or_does_not_fit() -> None:
    with pytest.raises(CheckError):
        nbfn.lines(step, batch, 3)
    with pytest.raises(CheckError):
        nbfn.lines(lambda x: x, batch)
    with pytest.raises(CheckError, match="found WrappedFunction"):
        nbfn.lines(nbfn.wrap_function(lambda x: x, [tf.TensorSpec([300, 300])]), batch)
    with pytest.raises(tf.errors.InvalidArgumentError):
        nbfn.lines(nbfn.function(lambda i: tf.gather(batch, i)), tf.constant(999))


def test_equal_code_of_two_files_is_shown_with_its_own_file(tmp_path: Path) -> None:
    shown = []
    for name in ("first", "second"):
        file = tmp_path / f"{name}.py"
        file.write_text(f"{name} = function(lambda x: x @ x)\n")
        space: dict[str, Any] = {"function": nbfn.function, "__name__": "__main__"}
        exec(compile(file.read_text(), str(file), "exec"), space)
        shown += [each.text for each in nbfn.lines(space[name], batch).lines[:1]]
    assert [each[:6] for each in shown] == ["first ", "second"]
