"""Traced functions of a module that autoreload reloads."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebook.reloading.conftest import ABOVE, values

TRACED = """
import nbfn
import tensorflow as tf


@nbfn.function
def step(x):
    if tf.reduce_sum(x) > 0:
        return x * {scale}
    return -x


@nbfn.function
def kept(x):
    if tf.reduce_sum(x) > 0:
        return x + 1.0
    return x - 1.0


def plain(x, by={by}):
    if tf.reduce_sum(x) > 0:
        return x * by
    return -x


class Model:
    @nbfn.function
    def step(self, x):
        if tf.reduce_sum(x) > 0:
            return x * {scale}
        return -x
"""


@pytest.fixture
def module(run, beside) -> Any:
    beside.write(TRACED.format(scale=2.0, by=2.0))
    run(
        f"import nbfn\nimport {beside.name} as beside\n"
        f"from {beside.name} import step, kept, plain, Model\n"
        "model, up, down = Model(), tf.constant([1.0]), tf.constant([-1.0])"
    )
    return beside


def test_a_traced_function_imported_by_name_follows_its_module(shell, run, module) -> None:
    run("step(up), model.step(up), kept(up)")
    module.write(ABOVE + TRACED.format(scale=3.0, by=2.0))
    run("result = step(up), step(down), model.step(up), model.step(down)")
    assert values(shell, "result") == [[3.0], [1.0], [3.0], [1.0]]
    run("assert len(step.traces) == 1 and not hasattr(step, '__code__')")
    (retrace,) = shell.user_ns["step"].retraces
    assert [cause.sentence for cause in retrace.causes] == [
        "code `step` has changed: function step"
    ]
    assert retrace.remedy is None


def test_a_function_whose_code_is_the_same_keeps_its_traces(shell, run, module) -> None:
    run("step(up), kept(up)")
    for scale in (3.0, 4.0):
        module.write(ABOVE * int(scale) + TRACED.format(scale=scale, by=2.0))
        run("kept(up), step(up)")
    run("assert len(kept.traces) == 1 and kept.hits == 2 and len(step.traces) == 1")
    run("result = kept(down), kept(tf.constant([-1.0, -1.0]))")
    assert values(shell, "result") == [[-2.0], [-2.0, -2.0]]


def test_a_function_that_the_notebook_traces_is_traced_again(shell, run, module) -> None:
    run("own = nbfn.function(plain)\nown(up), own(up)\nassert own.hits == 1")
    text = TRACED.format(scale=2.0, by=2.0)
    module.write(ABOVE + text.replace("x * by", "x * by + 1.0"))
    run("result = own(up), own(down)")
    assert values(shell, "result") == [[3.0], [1.0]]
    (retrace,) = shell.user_ns["own"].retraces
    assert [cause.path for cause in retrace.causes] == ["plain"]
    module.write(text)
    run("assert own(up) == 2.0 and len(own.traces) == 1, 'the code came back'")


def test_defaults_and_parameters_are_the_new_ones(shell, run, module) -> None:
    run("own = nbfn.function(plain)\nown(up)")
    module.write(TRACED.format(scale=2.0, by=5.0))
    run("assert own(up) == 5.0")
    module.write(TRACED.format(scale=2.0, by=5.0).replace("by=5.0", "by=5.0, more=1.0"))
    run(
        "assert own(up, more=2.0) == 5.0 and own.function_type.parameters.keys() == "
        "{'x', 'by', 'more'}"
    )
