"""The panel in JupyterLab: it follows the active notebook's kernel through its whole life."""

from __future__ import annotations

import re

from playwright.sync_api import expect

LOAD = "%load_ext nbfn"
NOT_LOADED = "nbfn is not loaded: run %load_ext nbfn."
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


def test_it_shows_what_the_kernel_traces(lab) -> None:
    lab.open(
        "shows.ipynb",
        STEP,
        "step(tf.ones([32, 8]))",
        "for n in (64, 65, 66):\n    step(tf.ones([n, 8]))",
    )
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.run(0)
    lab.run(1)
    functions = lab.section("Functions")
    expect(functions.locator("summary", has_text="step(images)")).to_contain_text("1 trace")
    expect(lab.section("Last retrace")).to_contain_text("No call has retraced.")
    lab.run(2)
    expect(functions).to_contain_text("4 traces")
    expect(lab.section("Last retrace")).to_contain_text("images")
    expect(lab.section("Last retrace")).to_contain_text("66")
    functions.locator("summary", has_text="step(images)").click()
    expect(functions.locator(".nbfn-Trace")).to_have_count(4)
    expect(functions.locator(".nbfn-Trace").first).to_contain_text("float32[32, 8]")
    expect(lab.section("Devices")).to_contain_text("CPU:0")


def test_its_remedy_is_a_new_cell_that_is_not_run(lab) -> None:
    lab.open(
        "remedy.ipynb", STEP, "for n in (1, 2, 3):\n    step(tf.ones([n, 8]))", "'the last cell'"
    )
    lab.run(0)
    lab.run(1)
    lab.section("Last retrace").locator(".nbfn-Remedy button").click()
    expect(lab.notebook.locator(".jp-Cell")).to_have_count(4)
    expect(lab.cell(2)).to_have_class(re.compile("jp-mod-active"))
    assert "step" in lab.source(2)
    expect(lab.cell(2).locator(".jp-InputPrompt")).to_have_text("[ ]:")
    lab.run(2)
    expect(lab.cell(2).locator('[data-mime-type*="error"], .jp-mod-error')).to_have_count(0)


def test_it_goes_to_the_cell_that_retraced(lab) -> None:
    lab.open("reveal.ipynb", STEP, "step(tf.ones([1, 8]))\nstep(tf.ones([2, 8]))", "1", "2")
    for index in range(4):
        lab.run(index)
    expect(lab.cell(3)).to_have_class(re.compile("jp-mod-active"))
    lab.section("Last retrace").get_by_role("button", name="In [2], line 2").click()
    expect(lab.cell(1)).to_have_class(re.compile("jp-mod-active"))


def test_it_follows_while_a_cell_runs(lab) -> None:
    loop = "for n in range(3600):\n    step(tf.ones([1, 8]))\n    time.sleep(0.2)"
    lab.open("busy.ipynb", STEP, loop)
    lab.run(0)
    lab.start(1)
    row = lab.section("Functions").locator(".nbfn-Row")
    row.locator("summary").click()
    calls = row.locator(".nbfn-Fact").first
    expect(calls).to_have_text(re.compile(r"\d+ calls?"))
    before = calls.inner_text()
    expect(calls).not_to_have_text(before)
    expect(calls).to_have_text(re.compile(r"\d+ calls"))
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")


def test_it_attaches_while_cells_are_queued(lab) -> None:
    lab.open("queued.ipynb", LOAD, "import time; time.sleep(3600)")
    lab.menu("Run", "Run All Cells")
    expect(lab.panel).to_contain_text(EMPTY)
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")


def test_it_survives_a_reload_of_the_page(lab) -> None:
    lab.open("reload.ipynb", STEP, "step(tf.ones([1, 8]))")
    lab.run(0)
    lab.run(1)
    expect(lab.section("Functions")).to_contain_text("1 trace")
    lab.page.reload()
    expect(lab.section("Functions")).to_contain_text("1 trace")


def test_it_starts_afresh_when_the_kernel_restarts(lab) -> None:
    lab.open("restart.ipynb", LOAD)
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)
    lab.menu("Kernel", "Restart Kernel…")
    lab.answer("Restart")
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)


def test_it_starts_afresh_when_the_kernel_dies(lab) -> None:
    lab.open("dies.ipynb", LOAD, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)
    lab.start(1)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.page.locator(".jp-Dialog .jp-mod-accept").click()
    lab.wait_for_kernel()
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)


def test_it_says_when_nbfn_is_unloaded(lab) -> None:
    lab.open("unload.ipynb", LOAD, "%unload_ext nbfn")
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)
    lab.run(1)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)


def test_it_follows_the_active_notebook(lab) -> None:
    lab.open("first.ipynb", LOAD)
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)
    lab.open_too("second.ipynb", "1")
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.tab("first.ipynb").click()
    expect(lab.panel).to_contain_text(EMPTY)
    lab.close("second.ipynb")
    lab.close("first.ipynb")
    expect(lab.panel).to_contain_text("Open a notebook to see its TensorFlow functions.")


def test_two_notebooks_may_share_a_kernel(lab) -> None:
    lab.open("owner.ipynb", LOAD, "%unload_ext nbfn")
    lab.run(0)
    lab.open_too("guest.ipynb", "%unload_ext nbfn", LOAD)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.notebook.locator(".jp-KernelName").click()
    options = lab.page.locator(".jp-Dialog select option")
    label = next(text for text in options.all_inner_texts() if "owner.ipynb" in text)
    lab.page.locator(".jp-Dialog select").select_option(label=label)
    lab.page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(lab.panel).to_contain_text(EMPTY)
    lab.run(0)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.run(1)
    expect(lab.panel).to_contain_text(EMPTY)


def test_a_kernel_that_was_shut_down_is_none(lab) -> None:
    lab.open("shutdown.ipynb", LOAD)
    lab.run(0)
    expect(lab.panel).to_contain_text(EMPTY)
    lab.menu("Kernel", "Shut Down Kernel")
    expect(lab.panel).to_contain_text("There is no kernel")
