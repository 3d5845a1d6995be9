"""The graph view: scopes that open and close, in text and HTML, escaped and of bounded size."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.graphs.operations import graph_of
from nbfn.views.bundle import bundle_of
from nbfn.views.graphs.graph_outline import found_operations, graph_outline, title_of
from tests.harness.html import Page


def outline_of(trace: Any, label: str) -> Any:
    return graph_outline(graph_of(trace), title_of(trace, label))


def trace_of(fn: Any, *args: Any) -> Any:
    traced = nbfn.function(fn)
    traced(*args)
    return traced.traces[0]


@pytest.fixture
def trace() -> Any:
    weights = tf.Variable(tf.ones([3, 4]), name="weights")

    def forward(x: Any) -> Any:
        with tf.name_scope("block"), tf.name_scope("dense"):
            y = tf.matmul(x, weights)
        while tf.reduce_sum(y) < 100:
            y = y * 2
        return y

    made = nbfn.function(forward)
    made(tf.ones([2, 3]))
    forward_alive.append(made)
    return made.traces[0]


forward_alive: list[Any] = []


def test_text_has_scopes_with_counts_and_operations_with_details(trace) -> None:
    text = outline_of(trace, "forward").text()
    assert text.startswith("forward, trace 1 (x: float32[2, 3])\n")
    assert "inputs: x float32[2, 3]" in text
    assert re.search(r"^  block/dense/MatMul/ReadVariableOp/resource +weights$", text, re.MULTILINE)
    assert re.search(r"^    block/ +3 operations: ", text, re.MULTILINE)
    assert re.search(r"^      dense/ +3 operations: ", text, re.MULTILINE)
    assert re.search(
        r"^        MatMul +MatMul +float32\[2, 4\] +x, block/dense/MatMul/Read", text, re.MULTILINE
    )
    assert re.search(r"^      while_body_\w+: +\d+ operations: ", text, re.MULTILINE)
    assert re.search(r"^ +mul +Mul +float32", text, re.MULTILINE)


def test_html_opens_and_closes_by_scope_and_keeps_captures_closed(trace) -> None:
    html = outline_of(trace, "forward").html()
    summaries = Page(html).summaries
    for part in ("block/: 3 operations", "dense/: 3 operations", "while_body_", "while_cond_"):
        assert part in " | ".join(summaries)
    assert "captures (1)" in summaries
    assert re.search(r"block/dense/MatMul\S+</td><td[^>]*>weights", html)


def test_both_say_the_same_each_time(trace) -> None:
    texts = [bundle_of(trace)["text/html"] for _ in range(20)]
    assert texts == texts[:1] * 20
    assert bundle_of(trace)["text/plain"].startswith("trace 1 (x: float32[2, 3])\n")


def test_names_are_escaped() -> None:
    def named(x: Any) -> Any:
        return x + 1

    made = nbfn.function(named)
    made(tf.ones([1]))
    html = outline_of(made.traces[0], "<script>alert(1)</script>").html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_large_graph_has_its_scopes_closed_in_text() -> None:
    def large(x: Any) -> Any:
        for block in range(12):
            with tf.name_scope(f"block{block}"):
                for _ in range(20):
                    x = x + 1.0
        return x

    made = nbfn.function(large)
    made(tf.ones([1]))
    text = outline_of(made.traces[0], "large").text()
    assert text.count("\n") < 30
    assert re.search(r"^    block11/ +40 operations: 20 AddV2, 20 Const", text, re.MULTILINE)
    assert "AddV2         " not in text
    found = found_operations("large", made.traces[0], "block7/add_3")
    assert found is not None
    assert "2 of 482 operations: `block7/add_3`" in found.text()


def test_a_flat_graph_is_cut_and_says_so() -> None:
    def flat(x: Any) -> Any:
        for _ in range(110):
            x = x + 1.0
        return x

    made = nbfn.function(flat)
    made(tf.ones([1]))
    text = outline_of(made.traces[0], "flat").text()
    assert re.search(r"and \d+ more$", text)


def test_finding(trace) -> None:
    found = found_operations("forward", trace, "mul")
    assert found is not None
    assert re.search(r"while/mul +Mul +float32.* while_body_\w+$", found.text(), re.MULTILINE)
    assert found_operations("forward", trace, "nothing") is None


def test_a_trace_that_has_gone() -> None:
    made = nbfn.function(lambda x: x + 1)
    made(tf.ones([2]))
    trace = made.traces[0]
    made.free()
    assert "its graph was freed" in bundle_of(trace)["text/plain"]


def test_results_that_are_the_same_are_counted() -> None:
    thirds = nbfn.function(lambda x: tf.split(x, 3))
    thirds(tf.zeros([6, 2]))
    assert "3 x float32[2, 2]" in outline_of(thirds.traces[0], "f").text()
