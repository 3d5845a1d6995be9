"""Cells in segments beside the other things of a notebook."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import threading
import warnings

import pytest

from nbfn.functions.segments import segment

CELL = "%%tf_function step\ny = tf.sin(x)\nprint('now')\nz = y * 2.0"


@pytest.fixture
def ready(run, always_traced):
    run("import nbfn, threading\nx = tf.constant([1.0, 2.0])")
    return run


@pytest.mark.parametrize("magic", ["%%time", "%%capture said", "%%timeit -n 2 -r 1"])
def test_other_cell_magics_around_it(ready, shell, magic: str) -> None:
    for _ in range(2):
        ready(f"{magic}\n{CELL}")
    assert shell.user_ns["z"].shape == (2,)
    assert shell.user_ns["step"].hits >= 2
    if "said" in magic:
        assert shell.user_ns["said"].stdout == "now\n"


def test_several_cells_with_one_name(ready, shell) -> None:
    cells = [CELL, CELL.replace("2.0", "3.0")]
    for _ in range(3):
        for factor, cell in enumerate(cells, 2):
            ready(cell)
            expected = shell.user_ns["y"].numpy() * factor
            assert shell.user_ns["z"].numpy().tolist() == expected.tolist()
    (sin, _) = shell.user_ns["step"].functions
    assert sin.hits == 5


@pytest.mark.parametrize(
    ("setup", "cell"),
    [
        ("def step(x): return x * 2", "y = step(x)\nz = step(y) + 1"),
        ("", "step = x * 2\ny = step + 1"),
        (
            "step = 0\ndef counted(x):\n    global step\n    step += 1\n    return x * step",
            "y = counted(x)\nz = y + 1",
        ),
    ],
    ids=["read", "written", "written by a function"],
)
def test_a_name_that_the_code_uses_itself_stays_its_own(
    ready, shell, setup: str, cell: str
) -> None:
    found = []
    for magic in ("", "%%tf_function step\n"):
        ready(f"for name in ('step', 'y', 'z'): globals().pop(name, None)\n{setup}")
        for _ in range(2):
            said = ready(magic + cell).stdout
            assert ("`step` of its own" in said) == bool(magic)
        found.append(str([shell.user_ns.get(name) for name in ("y", "z")]))
        assert "Traced" not in type(shell.user_ns["step"]).__name__
    assert found[0] == found[1]


def test_from_a_thread(ready, shell) -> None:
    ready(CELL)
    ready("thread = threading.Thread(target=step); thread.start(); thread.join()")
    assert shell.user_ns["step"].hits == 2
    ready("x = tf.constant([5.0, 6.0, 7.0])")
    ready("threads = [threading.Thread(target=step) for _ in range(4)]")
    ready("for each in threads: each.start()\nfor each in threads: each.join()")
    assert shell.user_ns["z"].shape == (3,)


@pytest.mark.parametrize("runs", [1, 3])
def test_an_exception_in_the_middle_keeps_earlier_names(ready, refused, shell, runs: int) -> None:
    cell = "%%tf_function step\ny = tf.sin(x)\nn += 1\nz = y * 2.0\n"
    cell += "if n == last:\n    1 / 0\nw = z + 1.0"
    ready(f"n, last = 0, {runs}")
    for _ in range(runs - 1):
        ready(cell)
    ready("for name in ('y', 'z', 'w'): globals().pop(name, None)")
    text = refused(cell)
    assert "----> 6     1 / 0" in text
    assert re.search(r"nbfn/\S+\.py", text) is None
    assert shell.user_ns["z"].shape == (2,)
    assert "w" not in shell.user_ns
    ready(cell)
    assert shell.user_ns["w"].shape == (2,)


def test_variables_that_the_cell_makes_are_made_again(ready, shell) -> None:
    cell = "%%tf_function step\nv = tf.Variable(x)\nv.assign_add(x)\ny = v * 2.0\nprint('made')"
    seen = []
    for _ in range(4):
        ready(cell)
        seen.append(shell.user_ns["v"])
        assert shell.user_ns["y"].numpy().tolist() == [4.0, 8.0]
        assert seen[-1].numpy().tolist() == [2.0, 4.0]
    assert len({id(each) for each in seen}) == 4


def test_await_at_the_top_runs_as_a_plain_cell_and_says_so(ready, shell) -> None:
    read = shell.transform_cell("%%tf_function step\ny = await later(x)\ny\n")
    assert "a cell with await runs as plain Python" in read
    assert read.endswith("\ny = await later(x)\ny\n")


def test_an_object_that_is_replaced(ready, shell) -> None:
    for factor in (1.0, 2.0, 3.0):
        ready(f"v = tf.Variable({factor}); layer = tf.keras.layers.Rescaling({factor})")
        for _ in range(2):
            ready("%%tf_function step\nprint(1)\ny = layer(x) * v")
            expected = [factor**2, 2 * factor**2]
            assert shell.user_ns["y"].numpy().tolist() == expected


def test_an_attribute_of_a_layer_that_changes(ready, shell) -> None:
    ready("layer = tf.keras.layers.LeakyReLU(0.5); w = tf.Variable(1.0)")
    for slope in (0.5, 0.5, 0.25, 0.25, 0.5):
        ready(f"layer.negative_slope = {slope}")
        ready("%%tf_function step\nprint(1)\ny = layer(-x) * w")
        assert shell.user_ns["y"].numpy().tolist() == [-slope, -2.0 * slope]
    assert (len(shell.user_ns["step"].traces), shell.user_ns["step"].hits) == (2, 3)


@pytest.mark.parametrize("text", ["y = (", "return 1", "break"])
def test_syntax_errors_are_those_of_a_plain_cell(ready, refused, text: str) -> None:
    plain = refused(f"\n{text}").split("\n")[-2:]
    traced = refused(f"%%tf_function step\n{text}").split("\n")[-2:]
    assert plain == traced


def test_other_threads_print_warn_and_log_while_a_segment_is_traced() -> None:
    def say(name: str) -> None:
        print(name)  # noqa: T201
        warnings.warn(name, stacklevel=1)
        logging.getLogger("tensorflow").warning(name)

    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: logged.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("tensorflow").addHandler(handler)
    shown = io.StringIO()
    try:
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(shown):
            warnings.simplefilter("always")
            with segment._suppressed_output() as printed:
                say("this")
                other = threading.Thread(target=say, args=("other",))
                other.start()
                other.join()
            say("after")
    finally:
        logging.getLogger("tensorflow").removeHandler(handler)
    assert printed.getvalue() == "this\n"
    assert shown.getvalue() == "other\nafter\n"
    assert [str(each.message) for each in warned] == logged == ["other", "after"]


def test_two_threads_that_are_quiet_at_once_print_again_afterwards() -> None:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        first, second = segment._suppressed_output(), segment._suppressed_output()
        first.__enter__()
        other = threading.Thread(target=second.__enter__)
        other.start()
        other.join()
        first.__exit__(None, None, None)
        print("first")  # noqa: T201
        second.__exit__(None, None, None)
        print("last")  # noqa: T201
    assert shown.getvalue() == "first\nlast\n"
