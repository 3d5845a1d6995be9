"""An interrupt in a trace, a run or an export: the session is whole, and the next call works."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nbfn.functions import TracedFunction
from nbfn.notebook.errors import tracebacks
from tests.notebook.conftest import MACHINERY, shown

SETUP = """
import signal, nbfn
x = tf.constant([1.0, 2.0]); v = tf.Variable(1.0); L = []; due = True
def interrupt():
    global due
    if due:
        due = False
        signal.raise_signal(signal.SIGINT)
"""


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Interrupts the main thread, as a kernel's interrupt does."""
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_in_a_trace_that_follows_python(run, shell, refused, monkeypatch, always_traced) -> None:
    def interrupted(*_) -> None:
        raise KeyboardInterrupt

    run(SETUP)
    cell = "%%tf_function step\ny = x * v\nprint(y)\nz = y + 1.0"
    with monkeypatch.context() as patched:
        patched.setattr(TracedFunction, "trace_eager_call", interrupted)
        text = refused(cell)
    assert "KeyboardInterrupt" in text
    assert [word for word in MACHINERY if word in text] == []
    assert shell.user_ns["y"].numpy().tolist() == [1.0, 2.0], "Python has run it"
    assert "z" not in shell.user_ns
    for _ in range(2):
        run(cell)
    assert shell.user_ns["z"].numpy().tolist() == [2.0, 3.0]
    assert shell.user_ns["step"].hits == 2


def test_in_a_trace_of_a_function(run, shell, refused) -> None:
    run(SETUP)
    run("%%tf_function\ndef f(x):\n    interrupt()\n    return x * v")
    assert "KeyboardInterrupt" in refused("f(x)")
    assert (shell.user_ns["f"].calls, shell.user_ns["f"].traces) == (0, ())
    shell.user_ns["due"] = False
    assert run("f(x)").result.numpy().tolist() == [1.0, 2.0]
    assert (shell.user_ns["f"].calls, len(shell.user_ns["f"].traces)) == (1, 1)


def test_in_a_run(run, shell, refused) -> None:
    run(SETUP)
    run(
        "def turn(x, n):\n    for i in tf.range(n):\n        v.assign_add(1.0)\n"
        "        x = tf.sin(x)\n    return x"
    )
    cell = "%%tf_function step\ny = turn(x, n)"
    run("n = tf.constant(1)")
    run(cell)
    run("n = tf.constant(200_000); before = y")
    with interrupted_after(0.1):
        text = refused(cell)
    assert "KeyboardInterrupt" in text
    assert shell.user_ns["y"] is shell.user_ns["before"]
    run("n = tf.constant(1)")
    run(cell)
    assert len(shell.user_ns["step"].traces) == 1


def test_shows_the_lines_of_the_user_only(run, refused) -> None:
    run(SETUP)
    run("%%tf_function\ndef f(x):\n    for _ in range(2):\n        interrupt()\n    return g(x)")
    run("def g(x):\n    interrupt()\n    return x")
    text = refused("# a comment\nf(x)")
    assert shown(text) == [
        "2 f(x)",
        "4 interrupt()",
        "7 signal.raise_signal(signal.SIGINT)",
    ]
    assert re.search(
        r"interrupted while `f` was traced for [\d.]+ m?s, at 1 operation$", text, re.M
    )
    run("due = True\ndef interrupt_():\n    interrupt()\ninterrupt, f_interrupt = print, interrupt")
    run("def g(x):\n    f_interrupt()\n    return x")
    assert shown(refused("f(x)"))[:3] == ["1 f(x)", "5 return g(x)", "2 f_interrupt()"]


def test_without_tensorflow_is_shown_as_ever(run, refused, shell) -> None:
    run(SETUP)
    cell = "due = True\ndef f():\n    interrupt()\nf()"
    text = refused(cell)
    shell.custom_exceptions = ()
    assert _numbered_alike(text) == _numbered_alike(refused(cell))
    assert "----> 3     interrupt()" in text


def _numbered_alike(text: str) -> str:
    return re.sub(r"In\[\d+\]", "In[]", text)


def test_a_second_one_while_the_first_is_shown(run, refused, shell, monkeypatch) -> None:
    def interrupted(*_) -> None:
        raise KeyboardInterrupt

    run(SETUP)
    run("%%tf_function\ndef f(x):\n    interrupt()\n    return x")
    before = shell.custom_exceptions
    monkeypatch.setattr(tracebacks, "shown", interrupted)
    text = refused("f(x)")
    assert "KeyboardInterrupt" in text
    assert "---->" not in text
    assert shell.custom_exceptions == before
    assert run("f(x)").result.numpy().tolist() == [1.0, 2.0]


def test_a_trace_that_comes_to_nothing_is_not_put_in_order(run, refused, shell) -> None:
    run(SETUP)
    run(
        "%%tf_function\ndef f(x):\n    graphs.append(tf.compat.v1.get_default_graph())\n"
        "    v.assign_add(1.0)\n    v.assign_add(1.0)\n    interrupt()\n    return v.read_value()"
    )
    run("graphs = []")
    refused("f(x)")
    run("f(x)")
    ordered = [
        sum(len(operation.control_inputs) for operation in graph.get_operations())
        for graph in shell.user_ns["graphs"]
    ]
    assert ordered[0] == 0
    assert ordered[1] > 0


@pytest.fixture(autouse=True)
def python_handles_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
