"""Helpers in a file beside the notebook, edited while autoreload is on."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import nbfn
from nbfn.notebook.reloading import reloads
from nbfn.notebook.reloading.reloads import Reloads
from nbfn.site import GENERATED
from tests.harness.messages import warns
from tests.notebook.reloading.conftest import ABOVE, values

HELPERS = """
import tensorflow as tf


def scaled(x):
    if tf.reduce_sum(x) > 0:
        return x * {scale}
    else:
        return -x


def shifted(x):
    if tf.reduce_sum(x) > 0:
        return x + 1.0
    return x - 1.0


def failing(x):
    y = x * {scale}
    raise ValueError(y.shape)


class Steps:
    def scaled(self, x):
        \"\"\"Scales.

        If it is positive.
        \"\"\"
        if tf.reduce_sum(x) > 0:
            return x * {scale}
        return -x

    @staticmethod
    def fixed(x):
        if tf.reduce_sum(x) > 0:
            return x * {scale}
        return -x

    @property
    def ready(self):
        return tf.constant({scale})

    def shifted(self, x):
        if tf.reduce_sum(x) > 0:
            return x + 1.0
        return x - 1.0
"""


@pytest.fixture(params=["of functions", "of the file"])
def edited(request: Any) -> Callable[[str], str]:
    """Moves text down, so that IPython patches the changed functions, or reloads the file."""
    if request.param == "of functions":
        return lambda text: ABOVE + text
    return lambda text: f"{ABOVE}\n# One more.\n{text}\nprint(end='')\n"


def test_a_changed_helper_is_traced_again_and_converted(shell, run, beside, edited) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(
        f"from {beside.name} import scaled, shifted, Steps\nimport nbfn\n"
        "steps = Steps()\nup, down = tf.constant([1.0]), tf.constant([-1.0])\n"
        "@nbfn.function\ndef step(x): return scaled(x)\n"
        "@nbfn.function\ndef methods(x):\n"
        "    return steps.scaled(x), steps.fixed(x), steps.ready, steps.shifted(x)\n"
        "step(up), methods(up)"
    )
    beside.write(edited(HELPERS.format(scale=3.0)))
    run("result = [step(up), step(down), *methods(up), *methods(down)]")
    expected = [[3.0], [1.0], [3.0], [3.0], 3.0, [2.0], [1.0], [1.0], 3.0, [-2.0]]
    assert values(shell, "result") == expected
    assert [len(shell.user_ns[name].traces) for name in ("step", "methods")] == [1, 1]
    (retrace,) = shell.user_ns["step"].retraces
    assert [cause.sentence for cause in retrace.causes] == [
        "global `scaled` has changed: function scaled"
    ]
    causes = {cause.path for cause in shell.user_ns["methods"].retraces[0].causes}
    assert causes == {"Steps.scaled", "Steps.fixed", "Steps.ready"}


def test_a_helper_below_the_change_keeps_its_trace_and_is_converted(
    shell, run, beside, edited
) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(
        f"from {beside.name} import shifted, Steps\nimport nbfn\nsteps = Steps()\n"
        "@nbfn.function\ndef step(x): return shifted(x) + steps.shifted(x)\n"
        "step(tf.constant([1.0]))"
    )
    beside.write(edited(HELPERS.format(scale=3.0)))
    run("same = step(tf.constant([-1.0]))\nassert len(step.traces) == 1")
    run("other = step(tf.constant([-1.0, -1.0]))\nassert len(step.traces) == 2")
    assert values(shell, "(same, other)") == [[-4.0], [-4.0, -4.0]]


def test_a_cell_sees_the_change(shell, run, beside, edited) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(f"from {beside.name} import scaled, shifted\nx = tf.constant([1.0])")
    cell = "%%tf_function both\na, b, c = scaled(x), scaled(-x), shifted(-x)"
    for _ in range(2):
        run(cell)
        assert values(shell, "(a, b, c)") == [[2.0], [1.0], [-2.0]]
    assert shell.user_ns["both"].hits == 1
    beside.write(edited(HELPERS.format(scale=3.0)))
    for _ in range(2):
        run(cell)
        assert values(shell, "(a, b, c)") == [[3.0], [1.0], [-2.0]]
    (retrace,) = shell.user_ns["both"].retraces
    assert [cause.sentence for cause in retrace.causes] == [
        "global `scaled` has changed: function scaled"
    ]
    assert shell.user_ns["both"].hits == 2


def test_tensorflows_own_functions_read_the_right_source(shell, run, beside, edited) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(f"from {beside.name} import scaled, shifted\nx = tf.constant([-1.0])")
    beside.write(edited(HELPERS.format(scale=3.0)))
    run("@tf.function\ndef step(x): return scaled(x), shifted(x)\nup, down = step(-x), step(x)")
    assert values(shell, "(*up, *down)") == [[3.0], [2.0], [1.0], [-2.0]]


def test_tracebacks_and_sources_are_those_of_the_file(shell, run, refused, beside, edited) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(f"import {beside.name} as beside\nimport nbfn\nstep = nbfn.function(beside.failing)")
    beside.write(edited(HELPERS.format(scale=3.0)))
    for call in ("beside.failing", "step", "nbfn.function(lambda x: beside.failing(x))"):
        shown = refused(f"{call}(tf.ones([2]))")
        line = beside.line_of("raise ValueError")
        assert re.search(rf"{beside.name}\.py:{line}\b", shown), shown
        assert f"--> {line}     raise ValueError(y.shape)" in shown
    module = shell.user_ns["beside"]
    for function in (module.scaled, module.Steps.scaled, module.Steps.shifted):
        source = inspect.getsource(function).lstrip()
        assert source.startswith(f"def {function.__name__}(")
        assert inspect.getsourcelines(function)[1] == function.__code__.co_firstlineno


@pytest.mark.parametrize("order", ["nbfn", "autoreload"])
def test_it_does_not_matter_which_is_loaded_first(shell, run, beside, order: str) -> None:
    if order == "autoreload":
        run("%unload_ext nbfn")
        run("%load_ext nbfn")
    beside.write(HELPERS.format(scale=2.0))
    run(f"from {beside.name} import scaled")
    beside.write(ABOVE + HELPERS.format(scale=3.0))
    run("assert scaled.__code__.co_firstlineno > 1")
    assert shell.user_ns["scaled"].__code__.co_firstlineno == beside.line_of("def scaled")


def test_what_was_reloaded_before_nbfn_was_there_is_found(shell, run, beside) -> None:
    run("%unload_ext nbfn")
    beside.write(HELPERS.format(scale=2.0))
    run(f"from {beside.name} import scaled")
    beside.write(ABOVE + HELPERS.format(scale=3.0))
    run("scaled(tf.ones([1]))")
    run("%load_ext nbfn")
    run("1")
    assert shell.user_ns["scaled"].__code__.co_firstlineno == beside.line_of("def scaled")


MORE = """

def added(x):
    if tf.reduce_sum(x) > 0:
        return x * 7.0
    return x


class Added:
    def scaled(self, x):
        if tf.reduce_sum(x) > 0:
            return x * 7.0
        return x
"""


def test_what_is_added_to_the_module_is_converted(shell, run, beside, edited) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(f"import {beside.name} as beside\nimport nbfn")
    beside.write(edited(HELPERS.format(scale=2.0) + MORE))
    run("step = nbfn.function(lambda x: (beside.added(x), beside.Added().scaled(x)))")
    run("result = step(tf.ones([1]))")
    assert values(shell, "result") == [[7.0], [7.0]]


DRESSED = '''
"""A module."""
from __future__ import annotations
import functools
import tensorflow as tf


def plain(fn):
    def called(x):
        return fn(x)
    return called


def polite(fn):
    @functools.wraps(fn)
    def called(*args):
        return fn(*args)
    return called


@plain
def hidden(x):
    if tf.reduce_sum(x) > 0: return x * {scale}
    return x


@polite
def wrapped(x: tf.Tensor) -> tf.Tensor:
    if tf.reduce_sum(x) > 0:
        return (
            x
            * {scale}
        )
    return x


def maker(factor):
    def made(x):
        if tf.reduce_sum(x) > 0:
            return x * factor * {scale}
        return x
    return made


class Outer:
    class Inner:
        def step(self, x):
            if tf.reduce_sum(x) > 0:
                return x * {scale}
            return x


class Derived(Outer.Inner):
    def step(self, x):
        if tf.reduce_sum(x) > 0:
            return super().step(x) + 1.0
        return x + 0.0 * {scale}
'''


def test_functions_are_found_however_they_are_dressed(shell, run, beside, edited) -> None:
    beside.write(DRESSED.format(scale=2.0))
    run(f"import {beside.name} as beside\nimport nbfn\nx = tf.ones([1])")
    beside.write(edited(DRESSED.format(scale=3.0)))
    run(
        "@nbfn.function\ndef step(x):\n"
        "    return (beside.hidden(x), beside.wrapped(x), beside.maker(2.0)(x),\n"
        "            beside.Outer.Inner().step(x), beside.Derived().step(x))\n"
        "eager, traced = step.python_function(x), step(x)"
    )
    assert values(shell, "eager") == values(shell, "traced")
    assert values(shell, "traced") == [[3.0], [3.0], [6.0], [3.0], [4.0]]


def test_a_file_with_a_mistake_changes_nothing(shell, run, beside) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(f"from {beside.name} import scaled\nimport nbfn\nstep = nbfn.function(lambda x: scaled(x))")
    run("step(tf.ones([1]))")
    beside.write("def scaled(x:\n")
    run("assert step(tf.ones([1])) == 2.0 and len(step.traces) == 1")
    beside.write(ABOVE + HELPERS.format(scale=3.0))
    run("assert step(tf.ones([1])) == 3.0 and len(step.traces) == 1")


def test_a_helper_that_could_not_be_converted_is_tried_again(shell, run, beside, edited) -> None:
    text = (
        "\nimport tensorflow as tf\ndef helper(x):\n    total = 0.0\n{loop}\n"
        "    if tf.reduce_sum(x) > 0:\n        return x + total\n    return -x\n"
    )
    beside.write(text.format(loop="    while (total := total + 1.0) < 3: pass"))
    run(f"import nbfn\nfrom {beside.name} import helper\nx = tf.constant([1.0])")
    run("step = nbfn.function(lambda x: helper(x))\nhelper(x)")
    failed = shell.run_cell("step(x)")
    assert isinstance(failed.error_in_exec, Exception)
    beside.write(edited(text.format(loop="    while total < 3: total = total + 1.0")))
    run("result = step(x), step(-x)")
    assert values(shell, "result") == [[4.0], [1.0]]


@pytest.mark.parametrize("at_once", [True, False])
def test_what_was_imported_by_name_is_what_the_module_has(
    shell, run, beside, at_once: bool
) -> None:
    """IPython reloads a file that it has just seen, and forgets the older functions."""
    beside.write(HELPERS.format(scale=2.0))
    run(
        f"import {beside.name} as beside\nfrom {beside.name} import scaled, Steps\nimport nbfn\n"
        "up, steps = tf.constant([1.0]), Steps()\n"
        "step = nbfn.function(lambda x: (scaled(x), Steps().scaled(x), steps.scaled(x)))"
    )
    for i, scale in enumerate((3.0, 4.0, 5.0)):
        beside.write(ABOVE * i + HELPERS.format(scale=scale), at_once and i == 0)
        run("eager, result = step.python_function(up), [*step(up), *step(-up)]")
        assert values(shell, "eager") == [[scale]] * 3
        assert values(shell, "result") == [[scale]] * 3 + [[1.0]] * 3


def test_what_has_been_put_around_a_function_stays(shell, run, beside) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(
        f"import {beside.name} as beside\nfrom {beside.name} import scaled\nimport functools\n"
        "@functools.wraps(scaled)\ndef around(x): return scaled(x) + 1.0\n"
        "def closed(fn):\n    def scaled(x): return fn(x) + 1.0\n"
        "    scaled.__qualname__, scaled.__module__ = 'scaled', fn.__module__\n    return scaled"
    )
    for wrapper in ("around", "closed(scaled)"):
        run(f"beside.scaled = {wrapper}")
        beside.write(ABOVE + beside.path.read_text())
        run("assert scaled(tf.ones([1])) == 2.0")


def test_what_is_not_reloaded_keeps_the_source_that_it_had(shell, run, refused, beside) -> None:
    beside.write(HELPERS.format(scale=2.0))
    run(
        f"%autoreload 0\nimport {beside.name} as beside\nimport nbfn\n"
        "step = nbfn.function(lambda x: (beside.scaled(x), beside.shifted(x)))"
    )
    line = beside.line_of("raise ValueError")
    beside.write(MORE + HELPERS.format(scale=3.0))
    run("result = [*step(tf.constant([1.0])), *step(tf.constant([-1.0]))]")
    assert values(shell, "result") == [[2.0], [2.0], [1.0], [-2.0]]
    shown = refused("beside.failing(tf.ones([1]))")
    assert f"{beside.name}.py (version 1):{line}" in shown
    assert f"--> {line}     raise ValueError(y.shape)" in shown
    beside.write(ABOVE + HELPERS.format(scale=2.0))
    run("assert beside.scaled.__code__.co_filename == beside.__file__")


def test_a_decorator_of_methods_that_ipython_does_not_see_through(shell, run, beside) -> None:
    """Where the eager code stays the old one, the graph is that of the old one too."""
    text = DRESSED.format(scale="{scale}") + (
        "\n\nclass Decorated:\n    @polite\n    def step(self, x):\n"
        "        if tf.reduce_sum(x) > 0:\n            return x * {scale}\n        return x\n"
    )
    beside.write(text.format(scale=2.0))
    run(f"import {beside.name} as beside\nimport nbfn\nx, model = tf.ones([1]), beside.Decorated()")
    for scale in (3.0, 4.0):
        beside.write(ABOVE + text.format(scale=scale))
        run("step = nbfn.function(lambda x: model.step(x))\neager, traced = model.step(x), step(x)")
        assert values(shell, "[eager]") == values(shell, "[traced]")


def test_what_autograph_writes_is_none_of_the_users_modules(tmp_path, monkeypatch, shell) -> None:
    for name in (f"{GENERATED}_1", "one_of_the_users"):
        module = ModuleType(name)
        module.__file__ = str(tmp_path / f"{name}.py")
        monkeypatch.setitem(sys.modules, name, module)
    found = Reloads(shell).modules()
    assert "one_of_the_users" in found
    assert f"{GENERATED}_1" not in found


def test_a_failure_is_said_once_and_breaks_no_cell(run, beside, monkeypatch, shell) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no order")

    beside.write("rate = 1.0\n")
    run(f"import {beside.name} as helpers")
    monkeypatch.setattr(reloads, "repair_module", fail)
    beside.write("rate = 2.0\n")
    with warns(nbfn.NbfnWarning):
        assert run("helpers.rate").result == 2.0
    beside.write("rate = 3.0\n")
    assert run("helpers.rate").result == 3.0
    run("%unload_ext nbfn")
    run("%load_ext nbfn")
