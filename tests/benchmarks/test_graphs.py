"""The picture of a graph with 10,000 operations in a browser, with scopes and without.

What is timed is a press on a box, with the frame that shows what is in it. `extra_info` has the
milliseconds until the picture is seen for the first time after its data has come, those of a
search, and the megabytes that the notebook keeps.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from nbfn import protocol

SETUP = """
%load_ext nbfn
import nbfn
import tensorflow as tf

@nbfn.function(autograph=False)
def flat(x):
    for n in range(5000):
        x = (tf.sin(x) if n % 2 else tf.cos(x)) * x
    return x

@nbfn.function(autograph=False)
def deep(x):
    for layer in range(20):
        with tf.name_scope(f"layer_{layer}"):
            for head in range(10):
                with tf.name_scope(f"head_{head}"):
                    for n in range(25):
                        x = tf.sin(x) * x
    return x

_ = flat(tf.ones([1])), deep(tf.ones([1]))
"""

# When the entry of a graph is rendered, and when its boxes are on the screen.
WATCH = """
new MutationObserver(() => {
  window.nbfn ??= {};
  const { begun, painted } = window.nbfn;
  if (!begun && document.querySelector('.nbfn-Output')) {
    window.nbfn.begun = performance.now();
  }
  if (begun && !painted && document.querySelector('.nbfn-Graph-box')) {
    window.nbfn.painted = true;
    requestAnimationFrame(() => setTimeout(() => {
      window.nbfn.milliseconds = performance.now() - begun;
    }));
  }
}).observe(document, { childList: true, subtree: true });
"""

PRESS = """() => new Promise(resolve => {
  const openers = document.querySelectorAll(
    '.nbfn-Graph-box:not(.nbfn-mod-open) > .nbfn-Graph-opener');
  openers[openers.length >> 1].dispatchEvent(new MouseEvent('click', { bubbles: true }));
  requestAnimationFrame(() => setTimeout(resolve));
})"""

SEARCH = """() => new Promise(resolve => {
  const field = document.querySelector('.nbfn-Graph input[type=search]');
  field.value = 'sin';
  const begun = performance.now();
  field.dispatchEvent(new Event('input', { bubbles: true }));
  requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)));
})"""


@pytest.mark.benchmark(group="picture of 10,000 operations")
@pytest.mark.parametrize("name", ["flat", "deep"])
def test_graph(lab: Any, benchmark: Any, name: str) -> None:
    lab.page.add_init_script(WATCH)
    lab.open("graph.ipynb", SETUP, f"%tf_graph {name}")
    lab.run(0)
    lab.run(1)
    expect(lab.cell(1).locator(".nbfn-Graph-canvas")).to_be_visible()
    first = lab.page.wait_for_function("() => window.nbfn?.milliseconds").json_value()
    benchmark.extra_info["first paint, ms"] = round(first)
    lab.page.evaluate("() => document.querySelector('.nbfn-Graph').scrollIntoView()")
    benchmark.pedantic(lambda: lab.page.evaluate(PRESS), rounds=5)
    benchmark.extra_info["search, ms"] = round(lab.page.evaluate(SEARCH))
    lab.page.keyboard.press("Control+s")
    expect(lab.tab("graph.ipynb")).not_to_have_class(re.compile("jp-mod-dirty"))
    document = json.loads((lab.server.notebooks / "graph.ipynb").read_text())
    (output,) = document["cells"][1]["outputs"]
    kept = json.dumps(output["data"][protocol.MIME_TYPE])
    benchmark.extra_info["kept, MB"] = len(kept) / 1e6
