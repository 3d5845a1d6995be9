"""The panel in JupyterLab: it follows the active notebook's kernel through its whole internal."""

from __future__ import annotations

import re

from playwright.sync_api import expect

LOAD = "%load_ext nbfn"
NOT_LOADED = "nbfn is not loaded in this kernel."
EMPTY = "No function has been traced yet."
STEP = """
%load_ext nbfn
import time
import nbfn
import tensorflow as tf

@nbfn.function
def step(images):
    return tf.reduce_sum(images)
"""
TRACES = ".nbfn-PageTable:first-of-type tbody tr"
"""The traces in the outline of a function that is open."""


def test_it_shows_what_the_kernel_traces_and_goes_to_its_cells(lab) -> None:
    missing = "TensorFlow has not been imported."
    calls = "for n in (64, 65, 66):\n    step(tf.ones([n, 8]))"
    cells = (LOAD, "import tensorflow", STEP, "step(tf.ones([32, 8]))", calls, "1")
    lab.open("shows.ipynb", *cells, kernel="without-tensorflow")
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.run(0)
    expect(lab.panel).to_contain_text(missing)
    lab.run(1)
    expect(lab.panel).not_to_contain_text(missing)
    lab.run(2)
    lab.run(3)
    functions = lab.section("Functions")
    expect(functions.locator("summary", has_text="step(images)")).to_contain_text("1 trace")
    retrace = lab.section("Retraces")
    expect(retrace).to_have_count(0)
    lab.run(4)
    expect(functions).to_contain_text("4 traces")
    expect(retrace).to_contain_text("images")
    expect(retrace).to_contain_text("66")
    functions.locator("summary", has_text="step(images)").click()
    expect(functions.locator(TRACES)).to_have_count(4)
    expect(functions.locator(TRACES).last).to_contain_text("float32[32, 8]")
    expect(lab.open_section("Devices")).to_contain_text("CPU:0")

    lab.run(5)
    expect(lab.cell(5)).to_have_class(re.compile("jp-mod-active"))
    retrace.get_by_role("button", name="In [5], line 2").first.click()
    expect(lab.cell(4)).to_have_class(re.compile("jp-mod-active"))
    expect(lab.page.locator("#jp-main-statusbar")).to_contain_text("Ln 2,")

    lab.page.reload()
    expect(functions).to_contain_text("4 traces")


def test_it_goes_to_the_line_of_a_file(lab) -> None:
    module = "import nbfn\n\n\n@nbfn.function\ndef double(x):\n    return x * 2\n"
    (lab.server.notebooks / "helper.py").write_text(module)
    lab.open(
        "file.ipynb", LOAD, "import helper\nimport tensorflow as tf\nhelper.double(tf.ones([2]))"
    )
    lab.run(0)
    lab.run(1)
    row = lab.section("Functions").locator(".nbfn-Row")
    row.locator("summary").click()
    row.get_by_role("button", name="helper.py, line 4").click()
    expect(lab.tab("helper.py")).to_have_class(re.compile("lm-mod-current"))
    expect(lab.page.locator("#jp-main-statusbar")).to_contain_text("Ln 4,")


def test_its_remedy_is_a_new_cell_and_its_values_need_none(lab) -> None:
    lab.open(
        "lists.ipynb",
        STEP.replace("return tf", "return weights * tf").replace(
            "@nbfn", "weights = tf.Variable([1.0, 2.0, 4.0])\n@nbfn"
        ),
        "for n in (1, 2, 3):\n    step(tf.ones([n, 8]))\nstep(tf.ones([3, 8], tf.float32)[0])",
        "'the last cell'",
    )
    lab.run(0)
    lab.run(1)
    groups = lab.section("Retraces").locator("tbody tr")
    expect(groups).to_have_count(2)
    expect(groups.filter(has_text="shape of images").locator("td").nth(2)).to_have_text("2")
    expect(lab.panel.locator(".nbfn-Totals")).to_contain_text("4 traces")
    lab.section("Retraces").locator(".nbfn-Remedy button").first.click()
    expect(lab.notebook.locator(".jp-Cell")).to_have_count(4)
    expect(lab.cell(2)).to_have_class(re.compile("jp-mod-active"))
    assert "step" in lab.source(2)
    expect(lab.cell(2).locator(".jp-InputPrompt")).to_have_text("[ ]:")
    lab.run(2)
    expect(lab.cell(2).locator('[data-mime-type*="error"], .jp-mod-error')).to_have_count(0)
    expect(lab.section("Retraces")).to_contain_text("settled")

    variables = lab.open_section("Variables")
    expect(variables).to_contain_text("step")
    values = variables.locator(".nbfn-PageTable", has_text="values")
    values.locator("summary").first.click()
    expect(values.locator("tbody tr")).to_contain_text("2.333")
    expect(lab.notebook.locator(".jp-Cell")).to_have_count(4)
    lab.cell(3).locator(".cm-content").fill("_ = weights.assign([5.0, 5.0, 5.0])")
    lab.run(3)
    expect(values.locator("tbody tr")).to_contain_text("5 ± 0")


def test_it_loads_nbfn_with_a_click_and_starts_afresh_with_each_kernel(lab) -> None:
    lab.open("internal.ipynb", "%unload_ext nbfn")
    lab.panel.get_by_role("button", name="Load nbfn").click()
    expect(lab.panel).to_contain_text(EMPTY)
    expect(lab.notebook.locator(".jp-Cell")).to_have_count(2)
    lab.expect_source(0, LOAD)
    expect(lab.cell(0).locator(".jp-InputPrompt")).to_have_text("[1]:")
    lab.run(1)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)
    lab.menu("Kernel", "Restart Kernel…")
    lab.answer("Restart")
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.panel.get_by_role("button", name="Load nbfn").click()
    expect(lab.panel).to_contain_text(EMPTY)
    expect(lab.notebook.locator(".jp-Cell")).to_have_count(2)
    lab.menu("Kernel", "Shut Down Kernel")
    expect(lab.panel).to_contain_text("There is no kernel")


def test_two_notebooks_may_share_a_kernel(lab) -> None:
    lab.open("owner.ipynb", LOAD, "%unload_ext nbfn")
    lab.run(0)
    lab.open_too("guest.ipynb", "%unload_ext nbfn", LOAD)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.share_kernel("owner.ipynb")
    expect(lab.panel).to_contain_text(EMPTY)
    lab.wait_for_kernel()  # The panel is quicker; JupyterLab drops what is run meanwhile.
    lab.run(0)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.run(1)
    expect(lab.panel).to_contain_text(EMPTY)
    # The connection of the first notebook ends with it; the panel goes on with the other's.
    lab.close("owner.ipynb")
    expect(lab.panel).to_contain_text("guest.ipynb")
    expect(lab.panel).to_contain_text(EMPTY)
    lab.run(0)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.run(1)
    expect(lab.panel).to_contain_text(EMPTY)


def test_it_follows_the_active_notebook_and_its_head_says_what_runs(lab) -> None:
    lab.open("head.ipynb", LOAD, "import time; time.sleep(3600)", "'last'")
    header = lab.panel.locator(".nbfn-Header")
    expect(header).to_contain_text("head.ipynb")
    expect(header).to_contain_text("Idle")
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)
    lab.start(1)
    expect(header).to_contain_text("Busy")
    expect(header).to_contain_text(re.compile(r"In \[2\] has been running for \d+ s"))
    lab.cell(2).locator(".jp-InputPrompt").click()
    header.get_by_role("button", name="In [2]").click()
    expect(lab.cell(1)).to_have_class(re.compile("jp-mod-active"))
    lab.open_too("other.ipynb", "1")
    expect(header).to_contain_text("other.ipynb")
    expect(header).to_contain_text("Idle")
    expect(lab.panel).to_contain_text(NOT_LOADED)
    header.get_by_role("button", name="other.ipynb").focus()
    lab.tab("head.ipynb").click()
    expect(header).to_contain_text("Busy")
    expect(lab.panel).to_contain_text(EMPTY)
    lab.close("other.ipynb")
    lab.close("head.ipynb")
    expect(lab.panel).to_contain_text("Open a notebook to see its TensorFlow functions.")


def test_what_is_open_is_open_again_after_a_switch(lab) -> None:
    many = "\n".join(
        f"@nbfn.function\ndef step_{n}(images): return tf.reduce_sum(images)\n"
        f"_ = step_{n}(tf.ones([{n + 1}]))"
        for n in range(40)
    )
    lab.open("kept.ipynb", STEP, many)
    lab.run(0)
    lab.run(1)
    row = lab.section("Functions").locator(".nbfn-Row", has_text="step_17(")
    row.locator("summary").first.click()
    expect(row.locator(TRACES)).to_have_count(1)
    field = lab.section("Functions").get_by_role("searchbox")
    field.fill("step_")
    view = lab.panel.locator(".nbfn-Panel-view:not([hidden])")
    view.evaluate("node => { node.scrollTop = 120 }")
    lab.page.wait_for_function("n => n.scrollTop === 120", arg=view.element_handle())
    lab.open_too("between.ipynb", LOAD)
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)
    lab.tab("kept.ipynb").click()
    expect(row.locator(TRACES)).to_have_count(1)
    expect(field).to_have_value("step_")
    assert view.evaluate("node => node.scrollTop") == 120


def test_what_it_asks_for_goes_to_the_document_that_it_shows(lab) -> None:
    lab.open("remedied.ipynb", STEP, "for n in (1, 2, 3):\n    step(tf.ones([n, 8]))")
    lab.run(0)
    lab.run(1)
    lab.open_too("unconcerned.ipynb", "1")
    lab.tab("remedied.ipynb").click()
    lab.open_console("remedied.ipynb")
    expect(lab.panel).to_contain_text("remedied.ipynb (console)")
    lab.tab("unconcerned.ipynb").click()
    lab.page.locator(".jp-CodeConsole-promptCell").click()
    expect(lab.panel).to_contain_text("remedied.ipynb (console)")
    # The console shares the kernel of the notebook, whose cell it is that retraced.
    lab.section("Retraces").locator(".nbfn-Remedy button").first.click()
    remedied, unconcerned = lab.page.locator(".jp-NotebookPanel").all()
    expect(remedied.locator(".jp-Cell")).to_have_count(3)
    expect(unconcerned.locator(".jp-Cell")).to_have_count(1)


def test_a_console_of_its_own_is_served_too(lab) -> None:
    lab.open("beside.ipynb", "1")
    lab.menu("File", "New", "Console")
    lab.answer("Select")
    expect(lab.panel).to_contain_text("Console 1")
    lab.panel.get_by_role("button", name="Load nbfn").click()
    expect(lab.panel).to_contain_text(EMPTY)
    expect(lab.page.locator(".jp-CodeConsole-content")).to_contain_text(LOAD)
    lab.tab("beside.ipynb").click()
    expect(lab.notebook.locator(".jp-Cell")).to_have_count(1)
    expect(lab.panel).to_contain_text(NOT_LOADED)


def test_it_takes_the_focus_when_it_is_opened_by_a_key(lab) -> None:
    lab.open("keys.ipynb", LOAD, "1")
    lab.run(0)
    lab.page.keyboard.press("Control+Alt+F")
    expect(lab.panel).to_be_focused()
    lab.page.keyboard.press("Tab")
    expect(lab.panel.get_by_role("button", name="keys.ipynb")).to_be_focused()
    lab.page.keyboard.press("Enter")
    expect(lab.notebook.locator(":focus")).to_have_count(1)
