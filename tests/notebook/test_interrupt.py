"""An interrupt in a trace, a run or an export: the session is whole, and the next call works."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

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


def test_in_a_trace_of_a_body(run, shell, refused) -> None:
    run(SETUP)
    cell = "%%tf_function step\nL.append(x)\nv.assign_add(1.0)\ninterrupt()\ny = x * 2"
    assert "KeyboardInterrupt" in refused(cell)
    assert (shell.user_ns["L"], shell.user_ns["v"].numpy()) == ([], 1.0)
    assert "y" not in shell.user_ns
    assert "step" not in shell.user_ns
    shell.user_ns["due"] = False
    run(cell)
    assert shell.user_ns["y"].numpy().tolist() == [2.0, 4.0]
    assert (len(shell.user_ns["L"]), shell.user_ns["v"].numpy()) == (1, 2.0)


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
    cell = (
        "%%tf_function step\nfor i in tf.range(n):\n    v.assign_add(1.0)\n    x = tf.sin(x)\ny = x"
    )
    run("n = tf.constant(1)")
    run(cell)
    run(cell)  # `y` and `i` are there now, and are its inputs
    run("n = tf.constant(200_000)")
    with interrupted_after(0.1):
        text = refused(cell)
    assert "KeyboardInterrupt" in text
    run("n = tf.constant(1)")
    run(cell)
    assert len(shell.user_ns["step"].traces) == 1
    assert shell.user_ns["step"].hits >= 1


def test_in_an_export(run, shell, refused, tmp_path) -> None:
    run(SETUP)
    run("%%tf_function\ndef f(x):\n    return x * v")
    run("f(x)")
    shell.user_ns["path"] = str(tmp_path / "model")
    with interrupted_after(0.7):
        started = time.monotonic()
        text = refused("nbfn.export(path, f)")
        assert time.monotonic() - started < 60
    assert "KeyboardInterrupt" in text
    assert list(tmp_path.iterdir()) == []
    assert run("f(x)").result.numpy().tolist() == [1.0, 2.0]
    run("nbfn.export(path, f, verify=False)")
    assert (tmp_path / "model" / "saved_model.pb").exists()


@pytest.fixture(autouse=True)
def python_handles_interrupts() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
