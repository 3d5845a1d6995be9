"""The widget under a cell, in a real output."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.harness.kernel import running_kernel
from tests.harness.widget_host import widget_host

LOAD = "%load_ext nbfn\nimport nbfn, tensorflow as tf\nweights = tf.Variable(tf.ones([8, 2]))"
CELL = "%%tf_function\ndef step(images):\n    return tf.reduce_sum(images @ weights)"


def test_the_line_follows_the_calls_and_opens_by_keyboard(lab) -> None:
    calls = "for n in (1, 1, 2):\n    step(tf.ones([n, 8]))"
    lab.open("line.ipynb", LOAD, CELL, calls, "'last'")
    lab.run(0)
    lab.run(1)
    status = lab.cell(1).locator(".nbfn-Page-call")
    expect(status).to_contain_text("step(images) not called yet")
    lab.run(2)
    expect(status).to_contain_text(
        re.compile(r"retraced: images: shape was \[1, 8\], is \[2, 8\].* to trace")
    )
    summary = lab.cell(1).locator(".nbfn-Disclosure > summary")
    expect(summary).to_contain_text("3 calls, 1 hit, 2 traces, 1 retrace")

    summary.focus()
    lab.page.keyboard.press("Enter")
    traces, captured = (lab.cell(1).get_by_role("table").nth(index) for index in (0, 2))
    expect(traces.get_by_role("row").nth(2)).to_contain_text("float32[1, 8]")
    expect(captured.get_by_role("row").nth(1)).to_contain_text(re.compile(r"weights.*\[8, 2\]"))

    # The remedy goes below its own cell, wherever the user works.
    lab.run(3)
    lab.cell(1).locator(".nbfn-PageView .nbfn-Remedy button").first.click()
    expect(lab.notebook.locator(".jp-Cell")).to_have_count(5)
    expect(lab.cell(2)).to_have_class(re.compile("jp-mod-active"))
    assert "step" in lab.source(2)


def test_long_work_is_seen_while_it_lasts(lab, tmp_path) -> None:
    seen = tmp_path / "seen"
    slow = (
        "import os, time\ndef slow(x):\n"
        f"    while not os.path.exists({str(seen)!r}): time.sleep(0.1)\n    return x + 1"
    )
    lab.open("slow.ipynb", LOAD, f"%%tf_function\n{slow}", "slow(tf.ones([2]))")
    lab.run(0)
    lab.run(1)
    lab.start(2)
    says = re.compile(r"tracing slow: \d+ s, \d operations, at In \[2\], line 4")
    for place in (lab.cell(1), lab.cell(2).locator(".jp-OutputArea"), lab.panel):
        expect(place.locator("progress")).to_be_visible()
        expect(place).to_contain_text(says)
    seen.touch()
    expect(lab.cell(2).locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"))
    expect(lab.page.locator("progress")).to_have_count(0)
    expect(lab.cell(1).locator(".nbfn-Page-call")).to_contain_text("traced: first call")
    expect(lab.panel).to_contain_text(re.compile(r"TensorFlow 2\.\d+"))


def test_a_host_that_has_widgets_only_draws_each_view(browser) -> None:
    with running_kernel() as kernel, widget_host(browser, kernel) as host:
        host.run(LOAD)
        function = host.show(CELL)
        expect(function).to_contain_text("step(images) not called yet")
        host.run("for n in (1, 2): step(tf.ones([n, 8]))")
        host.wait_for(function.get_by_text("1 retrace", exact=False))
        expect(function).to_contain_text(
            re.compile(r"retraced: images: shape was \[1, 8\], is \[2, 8\]")
        )
        cell = host.show("%%tf_function body\nfor n in range(3):\n    y = tf.sin(weights)")
        expect(cell).to_contain_text("2 statements")
        session = host.show("nbfn.session()")
        expect(session).to_contain_text("Variables")
        expect(session).to_contain_text("step")
        graph = host.show("step.traces[-1]")
        assert graph.locator("svg [role]").count() == 0
        host.wait_for(graph.locator("svg"))
        expect(graph).to_contain_text("MatMul")
