"""What takes long is said under the cell while it lasts, and leaves nothing behind."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher

from nbfn.notebook.progress_display import ProgressDisplay
from nbfn.protocol import WorkRecord
from tests.harness.kernel import Kernel, running_kernel


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    with running_kernel() as started:
        started.run("%load_ext nbfn\nimport time\nimport nbfn, tensorflow as tf")
        yield started


def record(done: int) -> WorkRecord:
    return WorkRecord(
        id="1", kind="loop", name="epochs", sentence=f"{done} of 4", seconds=1, done=done, total=4
    )


class Publisher:
    """Keeps what a kernel would send."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, str, bool]] = []

    def publish(self, data: Any, *, transient: Any, update: bool) -> None:
        self.sent.append((data, transient["display_id"], update))


def test_one_display_is_updated_and_ends_empty() -> None:
    publisher = Publisher()
    display = ProgressDisplay(SimpleNamespace(kernel=object(), display_pub=publisher))  # type: ignore[arg-type]
    display.show([])
    for done in (1, 1, 2):
        display.show([record(done)])
    display.end()
    texts = [data.get("text/plain") for data, _, _ in publisher.sent]
    assert texts == [None, "[#####...............] 1 of 4", "[##########..........] 2 of 4", None]
    assert [update for _, _, update in publisher.sent] == [False, True, True, True]
    assert publisher.sent[0][0] == publisher.sent[-1][0] == {}
    display.show([record(3)])
    assert len({id for _, id, _ in publisher.sent}) == 2


def test_what_a_cell_captures_is_left_alone() -> None:
    publisher = CapturingDisplayPublisher()
    display = ProgressDisplay(SimpleNamespace(kernel=object(), display_pub=publisher))  # type: ignore[arg-type]
    display.show([record(1)])
    display.end()
    assert publisher.outputs == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_which_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "28")
    monkeypatch.setenv("TERM", "xterm")
    display = ProgressDisplay(SimpleNamespace())  # type: ignore[arg-type]
    display.show([record(1)])
    display.end()
    display.end()
    assert terminal.getvalue() == "[#####...............] 1 of\x1b[K\r\x1b[K"


def test_a_terminal_that_clears_nothing_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    ProgressDisplay(SimpleNamespace()).show([record(1)])  # type: ignore[arg-type]
    assert terminal.getvalue() == ""


def test_a_log_file_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    ProgressDisplay(SimpleNamespace()).show([record(1)])  # type: ignore[arg-type]
    assert log.getvalue() == ""


@pytest.fixture(scope="module")
def shown(kernel: Kernel) -> None:
    """Lets the cells wait until what they do has been shown: ``shown("3 of 4")``."""
    kernel.run(SHOWN)


SHOWN = """
from nbfn.notebook.progress_display import ProgressDisplay
said, publish = [], ProgressDisplay._publish
def publishing(self, rows):
    publish(self, rows)
    said.extend(row.sentence for row in rows)
ProgressDisplay._publish = publishing
@tf.autograph.experimental.do_not_convert
def shown(text):
    said.clear()
    while not any(text in sentence for sentence in said):
        time.sleep(0.01)
    return 1.0
"""
SLOW = """
@nbfn.function
def slow(x):
    for i in range(24):
        x = tf.tanh(x + 1)
    shown("tracing slow")
    return x

slow(tf.ones([2]))
slow(tf.ones([3]))
None
"""


def test_a_slow_trace_in_a_kernel(kernel: Kernel, shown: None) -> None:
    first, *updates = kernel.run(SLOW).displays
    assert first["data"] == {}
    texts = [each["data"].get("text/plain", "") for each in updates]
    assert re.match(r"tracing slow: [1-9]\d* s, ", texts[0])
    assert any(" of about " in text and text.startswith("[#") for text in texts)
    assert all("at In [" in text and ", line " in text for text in texts if text)
    assert texts[-1] == ""
    assert updates[-1]["data"] == {}
    assert len({each["transient"]["display_id"] for each in updates}) == 1


LONG = """
said.clear()
def is_shown():
    time.sleep(0.02)
    return any("of 1,000,000 steps" in sentence for sentence in said)

@nbfn.function
def train(n):
    total = 0.0
    for i in nbfn.progress(tf.range(n), "training"):
        total += 1.0
        if tf.ensure_shape(tf.py_function(is_shown, [], tf.bool), []):
            break
    return total

float(train(tf.constant(1_000_000)))
"""


def test_a_long_loop_in_a_kernel(kernel: Kernel, shown: None) -> None:
    reply = kernel.run(LONG)
    texts = [each["data"].get("text/plain", "") for each in reply.displays[1:]]
    assert texts[0].startswith("running train: ")
    assert any("training: " in text and " of 1,000,000 steps" in text for text in texts)
    assert float(reply.text) > 10


def test_an_export_in_a_kernel(kernel: Kernel, tmp_path) -> None:
    kernel.run("f = nbfn.function(lambda x: x + 1)\nf(tf.constant(1.0))")
    reply = kernel.run(f"nbfn.export({str(tmp_path / 'model')!r}, f)")
    texts = [each["data"].get("text/plain", "") for each in reply.displays]
    assert any("step 3 of 5, loading the model in a fresh process" in text for text in texts)
    assert texts[-1] == ""
