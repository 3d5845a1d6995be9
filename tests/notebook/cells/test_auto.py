"""``%tf_auto on``: cells run in segments, and nobody notices but for the time."""

from __future__ import annotations

import pytest

from nbfn.functions.segments.cell import live_cells
from nbfn.outlines.cell_outline import cell_outline
from nbfn.outlines.session_outline import session_outline
from nbfn.sessions.messages.feed import feed
from nbfn.sessions.messages.records import cell_record
from nbfn.sessions.session import Session


@pytest.fixture
def auto(run, always_traced):
    before = {each.id for each in live_cells()}
    run("x = tf.constant([1.0, 2.0])")
    run("%tf_auto on")
    yield lambda: [each for each in live_cells() if each.id not in before and each.runs]
    run("%tf_auto off")


CELL = "y = tf.square(x) * 2.0\nprint(y.numpy().tolist())\ny + 1.0"


def test_the_outputs_are_those_of_a_plain_cell(run, auto) -> None:
    ran = [run(CELL) for _ in range(4)]
    assert {each.stdout.split("Out[")[0] for each in ran} == {"[2.0, 8.0]\n"}
    assert [each.displayed for each in ran] == [[]] * 4
    assert [each.result.numpy().tolist() for each in ran] == [[3.0, 9.0]] * 4
    (cell,) = auto()
    assert (cell.runs, cell.hits) == (4, 4), "run 1 and 2 are Python's"


def test_what_runs_once_is_not_traced_and_a_loop_is(run, auto) -> None:
    run(CELL)
    run("for i in range(6):\n    z = tf.sin(x) * 2.0\n    print(i)")
    once, loop = auto()
    assert (once.traces, len(loop.traces)) == ((), 1)
    assert set(once.lines.values()) == {"has run once"}
    assert loop.hits >= 3


@pytest.mark.parametrize(
    "cell",
    [
        "def f(a): return a + 1",
        "class K: pass",
        "import math",
        "%%time\ny = x + 1.0",
        "%%capture\ny = x + 1.0",
        "%%tf_eager\ny = x + 1.0",
        "",
    ],
)
def test_what_stays_plain(run, auto, cell: str) -> None:
    for _ in range(2):
        run(cell)
    assert auto() == []


def test_lines_with_magics_are_python(run, shell, auto) -> None:
    for _ in range(3):
        ran = run("%precision 3\nout = !echo hi\nz = tf.sin(x)\nprint(out)")
    assert "['hi']" in ran.stdout
    (cell,) = auto()
    assert cell.lines[3] == "graph"


def test_errors_are_those_of_a_plain_cell(run, refused, auto) -> None:
    cell = "y = x * 2.0\n\n1 / 0\nz = y"
    traced = refused(cell)
    run("%tf_auto off")
    plain = refused(cell)
    assert "----> 3 1 / 0" in traced
    assert traced.replace("In[3]", "In[5]") == plain
    assert "----> 1 x = (" not in refused("x = (")


def test_it_says_whether_it_is_on(run, refused) -> None:
    assert run("%tf_auto").stdout == "%tf_auto is off\n"
    run("%tf_auto on")
    run("%tf_auto on")
    assert run("%tf_auto").stdout == "%tf_auto is on\n"
    run("%tf_auto off")
    assert run("%tf_auto").stdout == "%tf_auto is off\n"
    assert "UsageError" in refused("%tf_auto maybe")


def test_the_views_show_it(alone, run, shell, auto) -> None:
    def sent() -> bool:
        feed().flush()
        page = feed().pages()["totals"]
        return page is not None and line in page.lines

    line = "`%tf_auto` is on: cells without a magic of their own run in segments"
    assert sent()
    text = session_outline(Session(shell.user_ns).shown).text()
    assert line.replace("`", "") in text.replace("`", "")
    run("%tf_auto off")
    assert not sent()
    assert "%tf_auto" not in session_outline(Session(shell.user_ns).shown).text()
    run("%tf_auto on")
    run("%reload_ext nbfn")
    assert not sent()


def test_its_cells_are_called_by_it(run, auto) -> None:
    for _ in range(3):
        run(CELL)
    (cell,) = auto()
    assert repr(cell).startswith("<TracedCell %tf_auto: ")
    assert cell_outline(feed().rows_of(cell), cell.id).title.startswith("%tf_auto: ")
    assert cell_record(cell).name == "%tf_auto"
    assert [each.label for each in cell.functions] == ["cell:1", "cell:3"]
    run("%%tf_function\n" + CELL)
    assert [each.label for each in auto()][-1] == "cell"


def test_off_is_off(run, auto) -> None:
    run("%tf_auto off")
    run(CELL)
    assert auto() == []


def test_a_cell_that_was_one_graph_before(run, shell, auto) -> None:
    for text in ("%%tf_function --whole\ny = x + 1.0", "y = x + 2.0"):
        shell.run_cell(text, store_history=True, cell_id="a-cell").raise_error()
    assert shell.user_ns["y"].numpy().tolist() == [3.0, 4.0]
