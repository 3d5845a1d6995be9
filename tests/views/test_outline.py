"""Text and HTML say the same, are deterministic, and never let a name become markup."""

from __future__ import annotations

import dataclasses
import re

import pytest
import tensorflow as tf

import nbfn
from nbfn.functions.retraces import definitions
from nbfn.outlines.outline import Outline, Table
from nbfn.sessions.export.verification import Verification
from nbfn.views.bundle import bundle_of
from nbfn.views.export_outline import export_outline


def plain(html: str) -> str:
    text = re.sub(r"<[^>]+>", " ", re.sub(r"</?code>", "`", html))
    return re.sub(r"\s+", " ", text).strip()


def test_code_in_sentences_is_shown_as_code() -> None:
    html = Outline("title", ["line 2: `a<b>()` ran, and `c`; a ` alone stays"]).html()
    assert "line 2: <code>a&lt;b&gt;()</code> ran, and <code>c</code>; a ` alone stays" in html


def test_empty_tables_are_left_out() -> None:
    outline = Outline("title", [], [Table("nothing", ("a",), [])])
    assert outline.text() == "title"
    assert "table" not in outline.html()


def test_a_function_in_text_and_html() -> None:
    weight = tf.Variable([1.0, 2.0])

    @nbfn.function
    def f(images):
        return images * weight

    f(tf.ones([3, 2]))
    f(tf.ones([4, 2]))
    bundle = bundle_of(f)
    assert set(bundle) == {"text/plain", "text/html"}
    for sentence in (
        "retraced: `images`: shape was [3, 2], is [4, 2]",
        "2 calls, 0 hits, 2 traces, 1 retrace",
        "Let one trace serve every size of `images`: f.relax()",
        "weight float32[2] CPU:0 variable",
    ):
        assert sentence in plain(bundle["text/html"]).replace("`f.relax()`", "f.relax()")
        assert sentence in re.sub(r" +", " ", bundle["text/plain"])
    assert "<code>f.relax()</code>" in bundle["text/html"]


def test_the_same_history_gives_the_same_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    def bundle() -> dict:
        monkeypatch.setattr(definitions, "_seen", {})
        f = nbfn.function(lambda x: x + 1)
        f(tf.ones([1]))
        f(tf.ones([2]))
        return bundle_of(f)

    assert bundle() == bundle()


def test_session_and_export(tmp_path) -> None:
    f = nbfn.function(lambda x: x + 1)
    f(tf.ones([1]))
    session = nbfn.Session({"f": f, "v": tf.Variable([1, 2])})
    text = bundle_of(session)["text/plain"]
    assert text.startswith("session: 1 function, 0 cells, 0 models, 1 variable")
    assert re.search(r"v +int32\[2\] +CPU:0", text)
    written = nbfn.export(tmp_path / "model", f, signatures={"add": f}, verify=False)
    assert "? exported to" in bundle_of(written)["text/plain"]
    assert "not verified" in bundle_of(written)["text/html"]
    equal = dataclasses.replace(written, verified=(Verification("add", "equal", "exactly"),))
    assert "computes the same" in bundle_of(equal)["text/html"]
    assert "✓ exported to" in bundle_of(equal)["text/plain"]
    assert export_outline(equal).record().verdict == "passed"
    for status, says in (("skipped", "not verified"), ("shapes", "only shapes compared")):
        checked = (Verification("add", status, "it draws"),)
        text = bundle_of(dataclasses.replace(written, verified=checked))["text/plain"]
        assert f"add: {says}: it draws" in text


def test_controls_of_direction_are_seen() -> None:
    outline = Outline("name", ["the key `\u202egnp`"], [Table("t", ("a",), [("x\u2067y",)])])
    for shown in (outline.text(), outline.html()):
        assert "\\u202egnp" in shown
        assert "x\\u2067y" in shown
        assert not {"\u202e", "\u2067"} & set(shown)
