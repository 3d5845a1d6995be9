"""What the cells of a notebook depend on, as they are run one after another."""

from __future__ import annotations

from typing import Any

from nbfn.outlines.outline import Outline
from nbfn.sessions.dependencies import Dependencies
from nbfn.sessions.session import Session
from nbfn.views.shown import page_of

CELLS = (
    "import tensorflow as tf, nbfn",
    "rate = 0.1\nw = tf.Variable([1.0])",
    "@nbfn.function\ndef step(x):\n    return helper(x) * rate + w",
    "def helper(x):\n    return x * 2.0",
    "step(tf.ones([1]))",
    "%%tf_function\ntotal = tf.constant(0.0)\nfor i in range(3):\n    total = total + rate",
)


def _text(words: Any) -> str:
    return words if isinstance(words, str) else words.text


def table_of(page: Outline, title: str) -> list[Any]:
    return next(list(table.rows) for table in page.tables if table.title == title)


def test_a_notebook_says_what_to_run_again(alone, shell: Any) -> None:
    start = shell.execution_count
    for code in CELLS:
        shell.run_cell(code, store_history=True).raise_error()

    def found() -> Dependencies:
        return Session(shell.user_ns).dependencies

    assert found().run_again == ()
    shell.run_cell("rate = 0.2", store_history=True).raise_error()
    now = found()
    again = [cell.execution_count for cell in now.run_again]
    assert again == [start + 4, start + 5]
    page = page_of(now)
    assert f"In [{start + 4}]" in page.text()
    diagram = page.diagram
    assert diagram is not None
    marked = {
        (node.kind, node.label)
        for node in diagram.nodes
        if node.marked and (node.kind == "cell" or node.label in shell.user_ns)  # not other tests'
    }
    assert marked == {
        ("function", "step"),
        ("cell", f"In [{start + 4}]"),
        ("cell", f"In [{start + 5}]"),
    }
    labels = {node.id: node.label for node in diagram.nodes}
    edges = {(labels[e.source], labels[e.target]): (e.label, e.marked) for e in diagram.edges}
    assert edges[f"In [{start + 6}]", "step"] == ("rate", True)
    assert edges[f"In [{start + 3}]", "step"] == ("helper", False)
    assert edges["w", "step"] == ("", False)
    assert edges["step", f"In [{start + 4}]"] == ("", True)
    assert f"In [{start}]" not in labels.values()  # which only imports
    assert not {"tf", "nbfn"} & {edge.label for edge in diagram.edges}
    rows = {_text(row[0]): row for row in table_of(page, "what depends on what")}
    assert rows["step"] == (
        "step",
        f"defined in In [{start + 2}], helper of In [{start + 3}], rate of In [{start + 6}], w",
        "global `rate` was 0.1, is 0.2",
    )
    assert rows[f"In [{start + 4}]"][1:] == ("step", "rate changed since")
    assert rows.keys() == {labels[edge.target] for edge in diagram.edges}
    shell.run_cell("step(tf.ones([1]))", store_history=True).raise_error()
    assert not any(each.is_stale for each in found().functions if each.name in shell.user_ns)
