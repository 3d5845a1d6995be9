"""The timeline in a real browser: what ran is seen, read, zoomed, and leads to its cell."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

SETUP = "%load_ext nbfn\nimport nbfn\nimport tensorflow as tf"
DEFINE = """@nbfn.function
def step(x):
    for _ in range(50):
        x = tf.sin(x)
    return tf.reduce_sum(x)"""
RETRACE = "for n in (1, 2, 3):\n    step(tf.ones([n]))"


def test_what_ran_is_seen_and_leads_to_its_cell(lab: Any) -> None:
    lab.open("timeline.ipynb", SETUP, DEFINE, RETRACE)
    for index in range(3):
        lab.run(index)
    section = lab.panel.locator("details.nbfn-Section", has_text="Timeline")
    section.locator("summary").first.click()
    picture = section.locator(".nbfn-Timeline")
    expect(picture.locator(".nbfn-Timeline-legend")).to_contain_text("another shape")
    expect(picture).to_contain_text(re.compile(r"Memory\s*[\d.]+ MB"))
    signs = picture.locator(".nbfn-Timeline-plot .nbfn-Timeline-lane").nth(1)
    colours = {
        path.evaluate("each => getComputedStyle(each).fill")
        for path in signs.locator("svg path, svg rect").all()
    }
    assert len(colours) > 1  # the trace, and the mark of its cause

    plot = picture.locator(".nbfn-Timeline-plot")
    plot.focus()
    for _ in range(3):
        lab.page.keyboard.press("ArrowRight")
    expect(picture.locator(".nbfn-Timeline-readout").first).to_contain_text("In [3]")
    lab.page.keyboard.press("Enter")
    expect(lab.cell(2)).to_have_class(re.compile("jp-mod-active"))

    expect(picture.get_by_role("button", name="All", exact=True)).to_be_disabled()
    picture.get_by_role("button", name="Zoom in").click()
    expect(picture.get_by_role("button", name="All", exact=True)).to_be_enabled()
