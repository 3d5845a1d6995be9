"""A report in a browser: the panel's views from one file, without a kernel or a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from playwright.sync_api import Browser, Page, expect

import nbfn
from nbfn import standalone
from nbfn.sessions.messages.feed import Feed

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def report(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The report of a session of two functions, in a browser that can load nothing."""
    weight = tf.Variable(tf.ones([3, 2]), name=HOSTILE)

    @nbfn.function
    def step(x, n=1):
        return tf.reduce_sum(x @ weight) * n

    for n in (1, 2):
        step(tf.ones([n, 3]), n=n)
    step.recorder.name = HOSTILE
    feed = Feed(lambda: ([step], []))
    feed.flush()
    file = tmp_path / "report.html"
    file.write_text(
        standalone.document(
            feed.snapshot().model_copy(update={"pages": feed.pages()}), "A session", "<p>still</p>"
        )
    )
    page = browser.new_context(offline=True).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.goto(file.as_uri())
    yield page
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
    assert failures == []
    page.context.close()


def test_a_report_can_be_explored_and_does_nothing(report: Page) -> None:
    row = report.locator(".nbfn-Row", has_text=HOSTILE).first
    expect(row).to_be_visible()
    row.locator("summary").first.click()
    expect(row).to_contain_text("float32")
    expect(row.locator(".nbfn-CellReference").first).to_be_visible()
    expect(row.locator("button.nbfn-CellReference")).to_have_count(0)
    expect(report.locator("#nbfn-view img")).to_have_count(0)
    expect(report.locator(".nbfn-Remedy").first).to_be_visible()
    expect(report.locator("button.nbfn-Remedy")).to_have_count(0)


def test_a_report_is_read_where_no_script_runs(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(standalone.document(Feed(lambda: ([], [])).snapshot(), "<b>", "<p>still</p>"))
    page = browser.new_context(java_script_enabled=False, offline=True).new_page()
    page.goto(file.as_uri())
    expect(page.locator("h1")).to_have_text("<b>")
    expect(page.get_by_text("still")).to_be_visible()
    page.context.close()
