"""Outputs that stay true, in a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nbfn import protocol
from tests.harness.kernel import Kernel, Reply, running_kernel

DEFINE = "@nbfn.function\ndef {0}(x):\n    return x + 1\n"
HTML, SAVED = "text/html", protocol.MIME_TYPE


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as started:
        started.run("%load_ext nbfn\nimport nbfn, tensorflow as tf")
        yield started


def shown(reply: Reply) -> dict[str, Any]:
    """The one output that a cell displays."""
    (output,) = [each for each in reply.outputs if "data" in each]
    return output


def updates(reply: Reply) -> dict[str, Any]:
    """What a cell changed of other outputs, by their ids."""
    return {each["transient"]["display_id"]: each["data"] for each in reply.displays}


def saved(data: dict[str, Any]) -> protocol.SavedView:
    return protocol.SavedView.model_validate(data[SAVED])


def kept(view: protocol.SavedView) -> protocol.Page:
    """The outline that a notebook keeps with an output."""
    page = view.snapshot.pages[view.target or ""]
    assert page is not None
    return page


def test_an_output_follows_what_it_shows(kernel: Kernel) -> None:
    first = shown(kernel.run(DEFINE.format("follow") + "follow", cell_id="a"))
    assert "not called yet" in first["data"]["text/plain"]
    view = saved(first["data"])
    assert view.view == "function"
    assert kept(view).call == "idle"
    changed = updates(kernel.run("follow(tf.ones([2])); follow(tf.ones([3]))", cell_id="b"))
    assert list(changed) == [first["transient"]["display_id"]]
    (data,) = changed.values()
    for kind in ("text/plain", HTML):
        assert "shape was [2], is [3]" in data[kind]
    now = saved(data)
    assert now.target == view.target
    assert kept(now).summary == "2 calls, 0 hits, 2 traces, 1 retrace"
    assert [table.total for table in kept(now).tables] == [2, 1]
    assert updates(kernel.run("1 + 1", cell_id="c")) == {}


def test_each_kind_is_kept_true_and_a_session_too(kernel: Kernel) -> None:
    kernel.run("plain = tf.function(lambda x: x * 2)\nnbfn.watch(plain)\nplain(tf.ones([2]))")
    cell = "%%tf_function body\nfor n in range(3):\n    y = tf.sin(tf.ones([9, 9]))\nnbfn.session()"
    kernel.run(cell, cell_id="body")
    displayed = [
        shown(kernel.run(code, cell_id=f"show {code}"))["transient"]["display_id"]
        for code in ("nbfn.watch(plain)", "body", "nbfn.session()")
    ]
    changed = updates(kernel.run(f"plain(tf.ones([3]))\n{DEFINE.format('more')}more(tf.ones([1]))"))
    assert {displayed[0], displayed[2]} <= changed.keys()
    assert saved(changed[displayed[2]]).view == "session"
    assert "more(x)" in changed[displayed[2]][HTML]


def test_the_view_of_an_observed_object_follows_its_functions(kernel: Kernel) -> None:
    kernel.run(
        "class Plain(tf.Module):\n"
        "    @tf.function\n"
        "    def step(self, x): return x * 2\n"
        "module = Plain()"
    )
    first = shown(kernel.run("nbfn.watch(module)", cell_id="observed"))
    changed = updates(kernel.run("module.step(tf.ones([2]))"))[first["transient"]["display_id"]]
    (group,) = kept(saved(changed)).groups
    (traces,) = (table for table in group.tables if table.title == "traces")
    assert traces.rows[0][1] == "x: float32[2]"
    assert "x: float32[2]" in changed[HTML]
    assert "x: float32[2]" not in first["data"][HTML]


def test_what_a_cell_replaces_is_forgotten(kernel: Kernel) -> None:
    kernel.run(DEFINE.format("again"))
    old = shown(kernel.run("again", cell_id="same"))["transient"]["display_id"]
    new = shown(kernel.run("again", cell_id="same"))["transient"]["display_id"]
    changed = updates(kernel.run("again(tf.ones([1]))"))
    assert old not in changed
    assert new in changed


def test_a_notebook_keeps_the_newest_rows_only(kernel: Kernel) -> None:
    kernel.run(DEFINE.format("many") + "many.max_traces = None")
    kernel.run("import warnings; warnings.simplefilter('ignore')")
    kernel.run("for n in range(1, 151): many(tf.ones([n]))")
    traces, retraces = kept(saved(shown(kernel.run("many"))["data"])).tables
    assert len(traces.rows) == len(retraces.rows) == 50
    assert (traces.rows[0][0], traces.total) == ("150", 150)


def test_what_is_dropped_is_not_kept_alive(kernel: Kernel) -> None:
    kernel.run(DEFINE.format("dropped") + "import weakref\ndead = weakref.ref(dropped)")
    kernel.run("display(dropped)")
    assert kernel.run("del dropped\nimport gc; gc.collect()\nprint(dead())").text.strip() == "None"


def test_the_result_is_still_the_output_of_its_number(kernel: Kernel) -> None:
    kernel.run(DEFINE.format("numbered"))
    kernel.run("numbered")
    assert kernel.run("print(_ is numbered)").text.strip() == "True"


def test_unloading_takes_it_back(kernel: Kernel) -> None:
    kernel.run(DEFINE.format("last") + "last")
    kernel.run("%unload_ext nbfn")
    reply = kernel.run("last(tf.ones([1]))\nlast")
    assert updates(reply) == {}
    assert SAVED not in shown(reply)["data"]
    kernel.run("%load_ext nbfn")
