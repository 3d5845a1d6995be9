"""What a kernel sends to hosts that have no page of nbfn's own: Colab, VS Code, and the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from nbfn import protocol
from nbfn.views.widget import BUNDLE, PICTURES
from tests.harness.kernel import Kernel, Reply, running_kernel

VIEW = "application/vnd.jupyter.widget-view+json"
MANAGER = {"colab": {"custom_widget_manager": {"url": "https://colab.test/manager.js"}}}

COLAB = """
import sys, types
colab = types.ModuleType("google.colab.output")
colab._widgets, asked = types.SimpleNamespace(_installed_url=None), []
def enable_custom_widget_manager():
    asked.append(True)
    colab._widgets._installed_url = "https://colab.test/manager.js"
colab.enable_custom_widget_manager = enable_custom_widget_manager
"""
"""As much of Colab as widgets look for."""

CELLS = (
    "%%tf_function\ndef f(x):\n    return x * w",
    "f(tf.ones([1])); _ = f(tf.ones([2]))",
    "f",
    "nbfn.session()",
    "f.traces[0]",
    "%tf_graph f",
    "%tf_graph --time f(tf.ones([1]))",
    "nbfn.diff(*f.traces)",
    "%%tf_function body\nfor n in range(3):\n    y = tf.sin(w)",
)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as started:
        started.run(f"{COLAB}\n%load_ext nbfn\nimport nbfn, tensorflow as tf")
        started.run("w = tf.Variable([1.0])")
        yield started


@pytest.fixture(scope="module")
def replies(kernel: Kernel) -> list[Reply]:
    """What cells send to a host that says nothing of itself."""
    return [kernel.run(cell) for cell in CELLS]


def displayed(replies: list[Reply]) -> list[dict[str, Any]]:
    return [each for reply in replies for each in (*reply.outputs, *reply.displays)]


def test_each_form_of_a_view_stands_alone(replies: list[Reply]) -> None:
    outputs = displayed(replies)
    assert len(outputs) > len(CELLS)
    for output in outputs:
        data = output["data"]
        assert data.keys() == {VIEW, protocol.MIME_TYPE, "text/html", "text/plain"}
        assert data["text/plain"].strip()
        assert not re.search(r"<script|<link|\bsrc=|\bon\w+=", data["text/html"])
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", data["text/plain"])
        assert output["metadata"] == {}
    shown = outputs[-1]["data"]
    assert "statements" in shown["text/html"]
    assert "statements" in shown["text/plain"]


def test_a_kernel_without_pages_says_the_same_in_html_and_text(replies: list[Reply]) -> None:
    (output,) = replies[2].outputs
    for form in ("text/html", "text/plain"):
        assert "shape was [1], is [2]" in output["data"][form]
        assert "x: float32[2]" in output["data"][form]


def test_colab_gets_what_draws_a_widget(kernel: Kernel, replies: list[Reply]) -> None:
    kernel.run('sys.modules["google.colab.output"] = colab')
    try:
        outputs = displayed([kernel.run(cell) for cell in CELLS])
        assert len(outputs) > len(CELLS)
        for output in outputs:
            assert output["data"].keys() >= {VIEW, "text/html", "text/plain"}
            assert output["metadata"] == {VIEW: MANAGER}
        assert kernel.run("print(len(asked))").text.strip() == "1"
    finally:
        kernel.run('del sys.modules["google.colab.output"]')


def test_a_run_that_nobody_looks_at_keeps_no_widgets(kernel: Kernel, replies: list[Reply]) -> None:
    ran = [kernel.run(cell, is_looked_at=False) for cell in CELLS]
    outputs = displayed(ran)
    assert len(outputs) > len(CELLS)
    for output in outputs:
        assert output["data"].keys() == {protocol.MIME_TYPE, "text/html", "text/plain"}
    assert not [each for reply in ran for each in reply.comms if each["type"] == "comm_open"]


@pytest.mark.parametrize("module", [BUNDLE, PICTURES], ids=lambda each: each.stem)
def test_the_front_end_is_one_module_that_needs_no_other(module: Any) -> None:
    source = module.read_text(encoding="utf-8")
    assert not re.search(r"""\b(?:import|from)\s*\(?\s*["'`]""", source)
    assert not re.search(r"""["'`]https?://(?!www\.w3\.org/)""", source)
    assert not re.search(r"\b(?:fetch|importScripts|XMLHttpRequest|WebSocket)\b\s*\(", source)
