"""The panel in a browser: 1,000 functions, 10,000 traces, 100,000 variables.

What is timed is a user's action, with the way to the kernel and back. `extra_info` has what is the
page's own: milliseconds from the kernel's message to the frame that shows it, and the megabytes of
the message.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

SETUP = """
%load_ext nbfn
import warnings
import nbfn
import tensorflow as tf
warnings.simplefilter("ignore")

class Layer(tf.Module):
    def __init__(self):
        self.own = [tf.Variable(1.0) for _ in range(100)]
        own = self.own

        @nbfn.function(autograph=False, max_traces=None)
        def step(x, n):
            return tf.add_n(own[: 1 if n else 100]) + x * n

        self.step = step

layers = [Layer() for n in range(1000)]
one = tf.ones([1])
for n in range(10):
    for layer in layers:
        layer.step(one, n)
layers[-1].step(one, 0)
"""
CALL = "layers[-1].step(one, 0)\n'called'"

# When a message of nbfn comes, and when what it says is on the screen.
WATCH = """
window.nbfn = {};
const Native = window.WebSocket;
window.WebSocket = class extends Native {
  constructor(...args) {
    super(...args);
    this.addEventListener('message', ({ data }) => {
      const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
      const [, type] = /"type": ?"(snapshot|patch)", ?"(?:protocol|epoch)"/.exec(text) ?? [];
      if (type) {
        window.nbfn = { type, size: text.length, begun: performance.now() };
        window.messages = (window.messages ?? 0) + 1;
      }
    });
  }
};
new MutationObserver(changes => {
  const { type, painted } = window.nbfn;
  const element = ({ target }) => target.closest ? target : target.parentElement;
  const isSeen = change => element(change)?.closest('.nbfn-View');
  if (type && !painted && changes.some(isSeen)) {
    window.nbfn.painted = true;
    requestAnimationFrame(() => setTimeout(() => {
      window.nbfn.milliseconds = performance.now() - window.nbfn.begun;
    }));
  }
}).observe(document, { childList: true, characterData: true, subtree: true });
"""
MEASURED = "() => window.nbfn.milliseconds && window.nbfn"


SECONDS = 60
CALLS = f"""
import time
end, number = time.monotonic() + {SECONDS}, 0
while time.monotonic() < end:
    one_call(x)
    number += 1
print(number, "calls")
"""


@pytest.fixture
def full(lab: Any) -> Any:
    """A notebook with much to show, whose panel has not been opened yet."""
    lab.page.add_init_script(WATCH)
    lab.write("full.ipynb", SETUP, CALL)
    lab.page.goto(f"{lab.server.url}/lab/tree/full.ipynb?reset")
    lab.wait_for_kernel()
    lab.start(0)
    expect(lab.cell(0).locator(".jp-InputPrompt")).to_have_text("[1]:", timeout=900_000)
    return lab


def measured(lab: Any, benchmark: Any) -> None:
    found = lab.page.wait_for_function(MEASURED).json_value()
    benchmark.extra_info[f"{found['type']} to paint, ms"] = round(found["milliseconds"])
    benchmark.extra_info[f"{found['type']}, MB"] = found["size"] / 1e6


@pytest.mark.benchmark(group="panel with much to show")
def test_panel(full: Any, benchmark: Any) -> None:
    def open_panel() -> None:
        full.open_panel()
        expect(full.panel).to_contain_text("10,000 traces")

    open_panel()
    measured(full, benchmark)

    def call() -> None:
        full.page.evaluate("() => { window.nbfn = {}; }")
        full.run(1)
        measured(full, benchmark)

    benchmark.pedantic(call, rounds=5)


@pytest.mark.benchmark(group=f"calls for {SECONDS} seconds")
@pytest.mark.parametrize("panel", ["closed", "open"])
def test_many_calls(lab: Any, benchmark: Any, panel: str) -> None:
    lab.page.add_init_script(WATCH)
    define = "@nbfn.function\ndef one_call(x):\n    return x + 1.0\nx = tf.ones([1])"
    setup = f"%load_ext nbfn\nimport nbfn\nimport tensorflow as tf\n{define}\none_call(x)"
    lab.open(f"{panel}.ipynb", setup, CALLS)
    lab.run(0)
    if panel == "closed":
        lab.page.locator('[data-id="nbfn-session-panel"]').first.click()
        expect(lab.panel).to_be_hidden()
    heap = "() => performance.memory.usedJSHeapSize / 1e6"
    before = lab.page.evaluate(heap)
    lab.page.evaluate("() => { window.messages = 0; }")

    benchmark.pedantic(lambda: lab.run(1, timeout=2000 * SECONDS), rounds=1)
    printed = lab.cell(1).locator(".jp-OutputArea-output").first.inner_text()
    benchmark.extra_info["calls a second"] = round(int(printed.split()[0]) / SECONDS)
    messages = lab.page.evaluate("() => window.messages")
    benchmark.extra_info["messages a second"] = round(messages / SECONDS, 1)
    benchmark.extra_info["page, MB more"] = round(lab.page.evaluate(heap) - before, 1)
