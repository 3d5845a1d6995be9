"""The feed sends what has changed, once, to everyone who watches."""

from __future__ import annotations

import ast
import gc
import random
import re
import sys
import warnings
from dataclasses import replace
from types import CodeType, ModuleType
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import protocol
from nbfn.functions.segments.analysis import analyse_cell
from nbfn.functions.segments.body import Surroundings
from nbfn.functions.segments.cell import TracedCell
from nbfn.functions.segments.cell_report import Report
from nbfn.outlines.session_outline import SECTIONS
from nbfn.sessions.messages.feed import Feed
from tests.harness.messages import warns


@pytest.fixture
def feed() -> Feed:
    gc.collect()
    return Feed()


def dumped(state: protocol.Rows) -> dict[str, dict[str, Any]]:
    """The tables of a state, also those that are the kernel's own."""
    return {name: {id: row.model_dump() for id, row in table.items()} for name, table in state}


class Client:
    """Applies messages as a front end does."""

    def __init__(self, feed: Feed) -> None:
        self.patches: list[protocol.Patch] = []
        self.pages: list[dict[str, protocol.Page | None]] = []
        feed.subscribe(self.receive)

    def receive(self, patch: protocol.SnapshotMessage | protocol.Patch | protocol.Pages) -> None:
        if isinstance(patch, protocol.Pages):
            self.pages.append(patch.pages)
            return
        if isinstance(patch, protocol.SnapshotMessage):
            self.snapshot = patch
            self.seq = patch.seq
            self.state = dumped(patch.state)
            return
        assert patch.seq == self.seq + 1
        self.seq = patch.seq
        self.totals = patch.totals
        self.patches.append(patch)
        for table, rows in dumped(patch.put).items():
            self.state[table] |= rows
        for table, ids in patch.removed:
            for id in ids:
                del self.state[table][id]


def test_patches_lead_to_the_same_state_as_a_snapshot(feed) -> None:
    client = Client(feed)
    weight = tf.Variable(1.0)
    f = nbfn.function(lambda x: x * weight)
    f(tf.ones([1]))
    feed.flush()
    f(tf.ones([2]))
    feed.flush()
    (retrace,) = [row for row in client.state["retraces"].values() if row["function"] == f.id]
    assert not retrace["settled"]
    f.relax()
    feed.flush()
    (retrace,) = [row for row in client.state["retraces"].values() if row["function"] == f.id]
    assert retrace["settled"]
    assert client.state == dumped(feed.snapshot().state)
    assert client.state["functions"][f.id]["calls"] == 2
    assert [row["cause"]["code"] for row in client.state["traces"].values()][-1] == "relaxed"
    assert "weight" in [row["name"] for row in client.state["variables"].values()]


def test_a_retrace_is_sent_with_cause_and_remedy(feed) -> None:
    client = Client(feed)

    @nbfn.function
    def f(images):
        return images + 1

    f(tf.ones([1]))
    f(tf.ones([2]))
    feed.flush()
    (row,) = [r for r in client.state["retraces"].values() if r["function"] == f.id]
    assert row["causes"][0]["code"] == "shape"
    assert row["remedy"]["code"] == "f.relax()"
    assert client.state["functions"][f.id]["last_retrace"] == row["id"]
    assert row["trace"] in client.state["traces"]


def test_a_client_that_has_failed_gets_everything_again_and_the_others_go_on(feed) -> None:
    got: list[protocol.SnapshotMessage | protocol.Patch] = []

    def fail_once(message: protocol.SnapshotMessage | protocol.Patch) -> None:
        got.append(message)
        if len(got) == 2:
            raise OSError("gone")

    feed.subscribe(fail_once)
    client = Client(feed)
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([1]))
    with warns(nbfn.NbfnWarning):
        feed.flush()
    f(tf.ones([1]))
    feed.flush()
    assert len(client.patches) == 2
    assert isinstance(got[2], protocol.SnapshotMessage)
    assert got[2].state.functions[f.id].calls == 2
    f(tf.ones([1]))
    feed.flush()
    assert isinstance(got[3], protocol.Patch)
    assert got[3].seq == got[2].seq + 1


def test_one_function_that_cannot_be_shown_hides_no_other(feed, monkeypatch) -> None:
    client = Client(feed)
    shown, hidden = nbfn.function(lambda x: x + 1), nbfn.function(lambda x: x + 2)
    with monkeypatch.context() as broken:
        broken.setattr(hidden, "site", None)
        shown(tf.ones([1]))
        hidden(tf.ones([1]))
        with pytest.warns(nbfn.NbfnWarning, match="`<lambda>`"):
            feed.flush()
    assert client.state["functions"].keys() >= {shown.id}
    assert hidden.id not in client.state["functions"]
    hidden(tf.ones([1]))
    feed.flush()
    assert client.state["functions"][hidden.id]["calls"] == 2


def test_bare_methods_are_not_listed(feed) -> None:
    class Model:
        @nbfn.function
        def step(self, x):
            return x

    model = Model()
    client = Client(feed)
    before = set(client.state["functions"])
    assert Model.__dict__["step"].id not in before
    model.step(tf.constant(1))
    feed.flush()
    (added,) = client.state["functions"].keys() - before
    assert client.state["functions"][added]["name"] == "Model.step"


def test_work_is_sent_when_it_changes_and_taken_out_when_it_ends(feed) -> None:
    f = nbfn.function(lambda x: x)
    client = Client(feed)
    row = protocol.WorkRecord(
        id="1", kind="run", name="f", function=f.id, sentence="running f: 1 s", seconds=1
    )
    feed.environment.work = {"1": row}
    feed.flush()
    feed.flush()
    assert len(client.patches) == 1
    for shown, expected in ((f, {"1": row}), (nbfn.function(lambda x: x + 1), {})):
        one = Feed(lambda shown=shown: ([shown], []), environment=feed.environment)
        one.flush()
        assert one.snapshot().state.work == expected
    feed.environment.work = {"1": row.model_copy(update={"seconds": 2})}
    feed.flush()
    assert client.state["work"]["1"]["seconds"] == 2
    feed.environment.work = {}
    feed.flush()
    assert client.state["work"] == {}


def test_a_patch_tells_the_version_that_was_imported_since(feed, monkeypatch) -> None:
    half = ModuleType("tensorflow")  # whose import has begun
    monkeypatch.setitem(sys.modules, "tensorflow", half)
    monkeypatch.setattr(feed, "_tensorflow", None)
    client = Client(feed)
    feed.flush()
    assert client.patches == []
    half.__version__ = "2.19.1"  # type: ignore[attr-defined]
    feed.flush()
    feed.flush()
    assert [patch.tensorflow for patch in client.patches] == ["2.19.1"]
    monkeypatch.delitem(sys.modules, "tensorflow")
    feed.flush()
    assert feed.snapshot().tensorflow == "2.19.1"


def test_pages_are_marked_the_number_of_the_last_patch(feed) -> None:
    page: list[Any] = []
    hidden: list[Any] = []
    view: list[Any] = []
    feed.subscribe(page.append, is_page=True)
    feed.subscribe(hidden.append, is_page=True)
    feed.subscribe(view.append)
    feed.pause(hidden.append)
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([1]))
    feed.flush()
    feed.mark()
    assert [each.type for each in page] == ["snapshot", "patch", "mark"]
    assert (page[2].epoch, page[2].seq) == (feed.epoch, page[1].seq)
    assert [each.type for each in hidden] == ["snapshot"]
    assert [each.type for each in view] == ["snapshot", "patch"]


def test_a_page_that_has_missed_a_patch_gets_a_snapshot_with_the_next_mark(feed) -> None:
    got: list[Any] = []
    is_broken = False

    def page(message: Any) -> None:
        if is_broken:
            raise OSError("no way out")
        got.append(message)

    feed.subscribe(page, is_page=True)
    is_broken = True
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([1]))
    with warns(nbfn.NbfnWarning):
        feed.flush()
    is_broken = False
    feed.mark()
    feed.mark()
    assert [each.type for each in got] == ["snapshot", "snapshot", "mark"]


# Cells ------------------------------------------------------------------------------------

LOOP = """
for n in range(8):
    x = slow(tf.sin(x))
    print(n)
"""


def slow(x: tf.Tensor) -> tf.Tensor:
    """Takes long as Python, so that a trace is worth it."""
    for _ in range(50):
        x = tf.tanh(x @ x)
    return x


def traced_cell(source: str, *, lazily: bool = False) -> TracedCell:
    """A cell that has not run; a magic stands on its first line."""

    def compiled(tree: ast.Module) -> CodeType:
        code: CodeType = compile(tree, "<cell>", "exec")
        return code

    namespace = {"tf": tf, "slow": slow, "x": tf.ones([2, 2])}
    surroundings = Surroundings(namespace, compiled, {})
    cell = TracedCell(
        analyse_cell(ast.parse(source).body, compiled), "step", surroundings, lazily=lazily
    )
    cell.plan.source = source
    return cell


def test_a_cell_is_sent_after_each_run_with_its_lines_and_its_graphs(feed) -> None:
    client = Client(feed)
    cell = traced_cell(LOOP)
    feed.flush()
    assert cell.id not in client.state["cells"]
    cell()
    feed.flush()
    row = client.state["cells"][cell.id]
    assert (row["name"], row["source"], row["runs"]) == ("step", LOOP, 1)
    assert row["lines"] == {2: "a loop", 3: None, 4: "prints"}
    assert row["sentence"] == "1 of 3 statements in 1 graph (line 3)"
    assert row["python"] == ["line 4 prints"]
    assert (row["graph_statements"], row["statements"]) == (1, 3)
    (segment,) = row["segments"]
    assert (segment["first"], segment["last"]) == (3, 3)
    assert row["functions"] == [segment["function"]]
    assert client.state["functions"][segment["function"]]["name"] == "step:3"
    assert [t["function"] for t in client.state["traces"].values()][-1] == segment["function"]
    assert client.state == dumped(feed.snapshot().state)
    cell()
    feed.flush()
    row = client.state["cells"][cell.id]
    assert row["runs"] == 2
    assert row["seconds"] > 0
    assert row["segments"][0]["eager_seconds"] > 0
    assert row["segments"][0]["seconds"] > 0


def test_a_cell_that_did_not_run_again_is_not_sent_again(feed) -> None:
    cell, other = traced_cell("y = x + 1"), traced_cell("y = x + 2")
    cell()
    other()
    client = Client(feed)
    feed.flush()
    assert client.patches == []
    other()
    feed.flush()
    (patch,) = client.patches
    assert list(patch.put.cells) == [other.id]


def test_a_dropped_cell_is_removed_with_its_functions(feed) -> None:
    cell = traced_cell("y = x + 1")
    cell()
    client = Client(feed)
    (function,) = client.state["cells"][cell.id]["functions"]
    id = cell.id
    del cell
    gc.collect()
    feed.flush()
    assert id not in client.state["cells"]
    assert function not in client.state["functions"]


def test_a_cell_that_is_traced_lazily_is_sent_once_it_has_a_graph(feed) -> None:
    client = Client(feed)
    cell = traced_cell("x = slow(x)", lazily=True)
    seen = []
    for _ in range(14):
        cell()
        feed.flush()
        seen.append(cell.id in client.state["cells"])
    assert not seen[0]
    assert seen[-1]


def test_a_cell_that_cannot_be_shown_now_is_sent_later(feed, monkeypatch) -> None:
    client = Client(feed)
    cell = traced_cell("y = x + 1")
    cell()
    with monkeypatch.context() as running:
        running.setattr(Report, "python_lines", _changes_size)
        feed.flush()
    assert cell.id not in client.state["cells"]
    feed.flush()
    assert client.state["cells"][cell.id]["runs"] == 1


def _changes_size(_: object) -> None:
    raise RuntimeError("dictionary changed size during iteration")


def test_of_many_traces_the_one_that_was_used_is_sent(feed) -> None:
    f = nbfn.function(lambda x, n: x * n, max_traces=None)
    nbfn.function(lambda x: x + 1)(tf.ones([1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(50):
            f(tf.ones([1]), n)
    client = Client(feed)
    feed.flush()
    assert client.patches == []
    f(tf.ones([1]), 17)
    feed.flush()
    (patch,) = client.patches
    assert list(patch.put.functions) == [f.id]
    assert [row.number for row in patch.put.traces.values()] == [18]
    assert patch.put.retraces == {}


# Limits -----------------------------------------------------------------------------------


def times(variable: tf.Variable, **options: Any) -> nbfn.TracedFunction:
    """A function that captures a variable."""
    return nbfn.function(lambda x: x * variable, **options)


def test_pages_get_the_newest_rows_and_totals_of_all() -> None:
    variables = [tf.Variable(tf.ones([4])) for _ in range(12)]
    functions = [times(each) for each in variables]
    scope = lambda: (functions, [])  # noqa: E731
    limits = {"functions": 8, "traces": 6, "retraces": 4, "variables": 5}
    feed = Feed(scope, limits)
    for function in functions:
        function(tf.ones([1]))
    client = Client(feed)
    sizes = {name: len(client.state[name]) for name in limits}
    assert sizes == limits | {"retraces": 0}
    assert list(client.state["functions"]) == [each.id for each in functions[-8:]]
    for function in functions[:6]:
        function(tf.ones([2, 1]))
        feed.flush()
    assert {name: len(client.state[name]) for name in limits} == limits
    newest = [trace.id for each in functions[:6] for trace in each.traces[1:]]
    assert list(client.state["traces"]) == newest
    whole = Feed(scope, {})
    everything = Client(whole).state
    for name in limits:
        for id, row in client.state[name].items():
            assert row == everything[name][id]
    assert client.totals == whole.snapshot().totals
    assert (client.totals.functions, client.totals.traces, client.totals.retraces) == (12, 18, 6)
    assert (client.totals.variables, client.totals.variable_nbytes) == (12, 12 * 16)
    functions[:11] = []
    del function
    gc.collect()
    feed.flush()
    assert {name: len(client.state[name]) for name in limits} == {
        "functions": 1,
        "traces": 0,
        "retraces": 0,
        "variables": 1,
    }
    assert (client.totals.functions, client.totals.variables) == (1, 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "limits", [{}, {"functions": 4, "traces": 5, "retraces": 3, "variables": 2}], ids=["all", "few"]
)
def test_what_a_page_has_is_what_a_look_at_everything_finds(seed, limits) -> None:
    chance = random.Random(seed)
    functions: list[Any] = []
    observers: list[Any] = []
    variables = [tf.Variable(1.0) for _ in range(5)]
    scope = lambda: ([*functions, *observers], [])  # noqa: E731
    feed = Feed(scope, limits)
    client = Client(feed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(120):
            what = chance.choice(["make", "watch", "call", "call", "call", "free", "drop"])
            if what == "make":
                functions.append(times(chance.choice(variables), max_traces=3))
            elif what == "watch":
                observers.append(nbfn.watch(tf.function(lambda x: x + 1)))
            elif functions and what == "call":
                chance.choice(functions)(tf.ones([chance.randint(1, 4)]))
            elif functions and what == "free":
                chance.choice(functions).free()
            elif functions:
                functions.pop(chance.randrange(len(functions)))
                gc.collect()
            if chance.random() < 0.5:
                feed.flush()
    feed.flush()
    whole = Feed(scope, {})
    everything = Client(whole).state
    assert client.state == dumped(feed.snapshot().state)
    assert limits or client.state == everything
    for name, limit in limits.items():
        assert len(client.state[name]) <= limit
        for id, row in client.state[name].items():
            assert row == everything[name][id]
    ours, theirs = (each.snapshot().totals.model_dump() for each in (feed, whole))
    assert ours == pytest.approx(theirs)


def test_a_method_that_was_never_called_has_an_outline_and_no_row() -> None:
    class Holder(tf.Module):
        @nbfn.function
        def step(self, x):
            return x

    holder, feed = Holder(), Feed(limits={})
    step, client = holder.step, Client(feed)
    feed.set_shown(client.receive, [step.id])
    (pages,) = client.pages
    assert pages[step.id].status == "not called yet"
    assert step.id not in client.state["functions"]


def test_who_looks_at_a_function_gets_its_outline_when_it_changes() -> None:
    f = nbfn.function(lambda x, n: x * n, max_traces=None)
    feed = Feed(lambda: ([f], []), {"traces": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(5):
            f(tf.ones([1]), n)
    client, other = Client(feed), Client(feed)
    assert len(client.state["traces"]) == 2
    feed.set_shown(client.receive, [f.id, "function-0"])
    (pages,) = client.pages
    assert pages["function-0"] is None
    assert [row[0] for row in pages[f.id].tables[0].rows] == ["5", "4", "3", "2", "1"]
    feed.flush()
    feed.set_shown(client.receive, [f.id])
    assert len(client.pages) == 1  # nothing is new
    f(tf.ones([1]), 0)
    feed.flush()
    assert client.patches[-1].pages[f.id].summary.startswith("6 calls, 1 hit, 5 traces")
    assert other.patches[-1].pages == {}
    feed.set_shown(client.receive, [])
    f(tf.ones([1]), 0)
    feed.flush()
    assert client.patches[-1].pages == {}


def test_outlines_come_again_with_the_snapshot_of_who_was_paused() -> None:
    f = nbfn.function(lambda x: x + 1)
    feed = Feed(lambda: ([f], []))
    client = Client(feed)
    feed.set_shown(client.receive, [f.id])
    feed.pause(client.receive)
    f(tf.ones([1]))
    feed.flush()
    feed.resume(client.receive)
    assert client.snapshot.pages[f.id].call == "trace"


def test_the_outline_of_a_cell_follows_its_segments(feed) -> None:
    cell = traced_cell("y = x + 1")
    cell()
    client = Client(feed)
    feed.set_shown(client.receive, [cell.id])
    assert client.pages[-1][cell.id].title.endswith("1 of 1 statements in 1 graph (line 1)")
    cell()
    feed.flush()
    page = client.patches[-1].pages[cell.id]
    assert (page.call, page.summary) == ("hit", "2 runs")


def test_nothing_is_sent_to_whom_nobody_looks_at(feed) -> None:
    client, hidden = Client(feed), Client(feed)
    feed.pause(hidden.receive)
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([1]))
    feed.flush()
    assert f.id in client.state["functions"]
    assert hidden.patches == []
    assert f.id not in hidden.state["functions"]
    feed.resume(hidden.receive)
    assert f.id in hidden.state["functions"]
    f(tf.ones([1]))
    feed.flush()
    assert hidden.state == client.state


def test_a_function_without_a_name_is_called_as_the_notebook_calls_it(feed) -> None:
    client = Client(feed)
    space: dict[str, Any] = {"nbfn": nbfn, "tf": tf}
    exec("double = nbfn.function(lambda x: x * 2)\ndouble(tf.ones([1]))", space)
    nameless = [nbfn.function(lambda x: x * 3)]
    nameless[0](tf.ones([1]))
    feed.flush()
    names = {row["name"] for row in client.state["functions"].values()}
    assert "double" in names
    assert any(re.fullmatch(r"lambda \(test_feed.py, line \d+\)", name) for name in names)


def test_variables_are_captured_by_functions_of_whose_traces_no_row_was_sent() -> None:
    weight = tf.Variable(1.0)
    functions = [times(weight), times(weight)]
    feed = Feed(lambda: (functions, []), {"traces": 1})
    for function in functions:
        function(tf.ones([1]))
    client = Client(feed)
    assert len(client.state["traces"]) == 1
    feed.set_shown(client.receive, ["variables"])

    def users(pages: dict[str, protocol.Page | None]) -> int:
        page = pages["variables"]
        assert page is not None
        return str(page.tables[0].rows[0][-1]).count("lambda")

    assert users(client.pages[-1]) == 2
    functions[0].free()
    feed.flush()
    assert users(client.patches[-1].pages) == 1


def test_the_line_of_totals_is_sent_when_it_changes(feed) -> None:
    client = Client(feed)
    feed.set_shown(client.receive, ["totals"])
    assert len(client.pages) == 1
    feed.environment.devices["d"] = protocol.DeviceRecord(id="d", kind="CPU")
    feed.flush()
    assert client.totals.devices == 1  # of which that line says nothing
    assert client.patches[-1].pages == {}
    assert len(client.pages) == 1
    feed.environment.auto = True
    feed.flush()
    page = client.pages[-1]["totals"]
    assert page is not None
    assert "%tf_auto` is on" in str(page.lines)


def test_the_slowest_lines_are_sent_when_they_have_been_timed() -> None:
    f = nbfn.function(lambda x: tf.reduce_sum(x @ x))
    feed = Feed(lambda: ([f], []))
    client = Client(feed)
    f(tf.ones([60, 60]))
    feed.flush()
    assert client.state["functions"][f.id]["lines"] == []
    nbfn.lines(f, tf.ones([60, 60]))
    feed.flush()
    (line,) = client.state["functions"][f.id]["lines"]
    assert line["cell"]["line"] == f.site.line
    assert 0 < line["share"] <= 1
    assert re.fullmatch(r"\d+ % · [\d.]+ [mµ]?s", line["text"])


def test_a_section_is_drawn_again_only_when_what_it_is_made_of_has_changed(monkeypatch) -> None:
    weight = tf.Variable(1.0)
    f = nbfn.function(lambda x: x * weight)
    feed = Feed(lambda: ([f], []))
    f(tf.ones([1]))
    client = Client(feed)
    feed.set_shown(client.receive, ["variables"])
    monkeypatch.setitem(SECTIONS, "variables", replace(SECTIONS["variables"], draw=None))
    for _ in range(3):
        f(tf.ones([1]))
        feed.flush()
    assert client.state["traces"].keys() == {each.id for each in f.traces}
    assert client.patches[-1].totals.calls == 4
    assert len(client.pages) == 1


def test_a_flush_lists_what_there_is_once() -> None:
    functions = [nbfn.function(lambda x: x + 1) for _ in range(5)]
    asked: list[int] = []

    def scope() -> Any:
        asked.append(1)
        return functions, []

    feed = Feed(scope)
    client = Client(feed)
    feed.set_shown(client.receive, [each.id for each in functions])
    asked.clear()
    feed.flush()
    assert len(asked) <= 2, "one for the rows, one for the outlines"
