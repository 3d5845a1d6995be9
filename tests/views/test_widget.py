"""The widgets for hosts without nbfn's extension: a snapshot first, and patches from then on."""

from __future__ import annotations

import gc
from collections import deque
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn import protocol
from nbfn.functions.graphs.operations import graph_of
from nbfn.outlines.outline import Outline
from nbfn.sessions.messages.feed import feed
from nbfn.views import widget as widgets
from nbfn.views.graphs.graph_record import graph_record
from nbfn.views.widget import View, graph_widget, live_widget


@pytest.fixture
def sent(monkeypatch) -> list[tuple[str | None, dict[str, Any]]]:
    """What widgets send, with the id of what each shows."""
    messages: list[tuple[str | None, dict[str, Any]]] = []
    monkeypatch.setattr(View, "send", lambda self, content: messages.append((self.target, content)))
    return messages


def test_a_widget_gets_patches_of_its_own_function(sent) -> None:
    shown, other = nbfn.function(lambda x: x + 1), nbfn.function(lambda x: x + 2)
    shown(tf.ones([1]))
    widget = live_widget("function", shown)
    assert live_widget("function", shown) is widget
    assert list(widget.snapshot["state"]["functions"]) == [shown.id]
    other(tf.ones([1]))
    feed().flush()
    assert sent == []
    before = widget.snapshot
    shown(tf.ones([2]))
    feed().flush()
    ((target, patch),) = sent
    assert target == shown.id
    assert protocol.Patch(**patch).put.functions[shown.id].calls == 2
    assert patch["seq"] == before["seq"] + 1
    assert "2 calls" in patch["pages"][shown.id]["summary"]
    assert widget.snapshot is before


def test_a_graph_has_a_widget_and_the_oldest_of_many_ends(monkeypatch) -> None:
    monkeypatch.setattr(widgets, "MAX_GRAPHS", 2)
    shown = nbfn.function(lambda x: x + 1)
    shown(tf.ones([1]))
    record = graph_record("f", graph_of(shown.traces[0]))
    first, second, third = (graph_widget(record) for _ in range(3))
    assert protocol.GraphRecord.model_validate(third.graph) == record
    assert [each.comm is None for each in (first, second, third)] == [True, False, False]
    page = Outline("a page").record()
    beside = graph_widget(record, page)
    assert (beside.view, protocol.Page.model_validate(beside.page)) == ("page", page)
    reported: list[Any] = []
    monkeypatch.setattr(type(third), "send", lambda self, content: reported.append(content["type"]))
    third._handle_custom_msg({"type": "request_snapshot"}, [])
    assert reported == []


def test_who_has_missed_something_asks_and_gets_it(sent) -> None:
    shown = nbfn.function(lambda x, n: x * n, max_traces=None)
    for n in range(3):
        shown(tf.ones([1]), n)
    widget = live_widget("function", shown)
    shown(tf.ones([1]), 1)
    widget._handle_custom_msg({"type": "request_snapshot"}, [])
    assert widget.snapshot["state"]["functions"][shown.id]["calls"] == 4
    assert widget.snapshot["pages"][shown.id]["summary"].startswith("4 calls, 1 hit, 3 traces")
    widget._handle_custom_msg({"type": "request_outlines", "targets": []}, [])
    widget._handle_custom_msg({"type": "request_outlines", "targets": [shown.id]}, [])
    assert [content["type"] for _, content in sent] == ["pages"]
    (traces, *_) = sent[-1][1]["pages"][shown.id]["tables"]
    assert [row[0] for row in traces["rows"]] == ["3", "2", "1"]
    for nonsense in (
        None,
        3,
        {},
        {"type": "request_outlines"},
        {"type": "request_outlines", "targets": [[], shown.id]},
    ):
        widget._handle_custom_msg(nonsense, [])
    assert len(sent) == 1


def test_a_widget_ends_with_its_function_and_keeps_nothing_alive(sent) -> None:
    shown = nbfn.function(lambda x: x + 1)
    shown(tf.ones([1]))
    widget = live_widget("function", shown)
    id = shown.id
    del shown
    gc.collect()
    assert id not in widgets._widgets
    feed().flush()
    assert list(widget.snapshot["state"]["functions"]) == [id]


def test_of_many_widgets_whose_functions_have_ended_the_oldest_close(sent, monkeypatch) -> None:
    monkeypatch.setattr(widgets, "MAX_ENDED", 1)
    monkeypatch.setattr(widgets, "_ended", deque())
    made = []
    for _ in range(4):
        shown = nbfn.function(lambda x: x + 1)
        made.append(live_widget("function", shown))
        del shown
        gc.collect()
    assert [each.comm is None for each in made] == [True, True, False, False]


def test_the_widget_of_the_session_follows_all_functions(sent, monkeypatch) -> None:
    monkeypatch.setattr(widgets, "_widgets", {})
    widget = live_widget("session", None)
    made = nbfn.function(lambda x: x + 1)
    made(tf.ones([1]))
    feed().flush()
    assert [made.id in content["put"]["functions"] for _, content in sent] == [True]
    widget.close()
    made(tf.ones([1]))
    feed().flush()
    assert len(sent) == 1


def test_a_page_of_nbfns_own_makes_patches_needless(sent) -> None:
    shown = nbfn.function(lambda x: x + 1)
    live_widget("function", shown)
    page: list[Any] = []
    feed().subscribe(page.append, is_page=True)
    try:
        shown(tf.ones([1]))
        feed().flush()
    finally:
        feed().unsubscribe(page.append)
    assert len(page) == 2
    assert sent == []
