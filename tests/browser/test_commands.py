"""The commands: found by the project's name, and each a visible cell where it runs code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Lab

SETUP = """
%load_ext nbfn
import nbfn
import tensorflow as tf

@nbfn.function
def step(images):
    return tf.reduce_sum(images)
"""
RETRACE = "for n in (1, 2, 3):\n    step(tf.ones([n, 8]))"
COMMANDS = {
    "Show TensorFlow Functions",
    "Load nbfn",
    "Trace This Cell",
    "Explain the Last Retrace",
    "Show a Graph",
    "Export the Session…",
    "Run All Cells and Report",
    "Show What Is Stale",
    "Show the Devices",
    "Write a Report",
}


def choose(lab, command: str) -> None:
    """Chooses a command in the palette."""
    lab.page.keyboard.press("Control+Shift+C")
    lab.page.locator(".lm-CommandPalette-input").fill(f"nbfn {command}")
    lab.page.locator(".lm-CommandPalette-itemLabel", has_text=command).first.click()


def test_the_name_of_the_project_finds_them_all(lab) -> None:
    lab.open("palette.ipynb", "1")
    lab.cell(0).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("Control+Shift+C")
    lab.page.locator(".lm-CommandPalette-input").fill("nbfn")
    labels = lab.page.locator(".lm-CommandPalette-itemLabel")
    expect(labels.first).to_contain_text("nbfn")
    assert set(labels.all_inner_texts()) >= COMMANDS
    lab.page.keyboard.press("Escape")
    lab.page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
    lab.page.locator('.lm-Menu-itemLabel:text-is("TensorFlow Functions")').hover()
    for label in COMMANDS - {"Show TensorFlow Functions"}:
        expect(lab.page.locator(f'.lm-Menu-itemLabel:text-is("{label}")')).to_be_visible()
    for _ in range(2):
        lab.page.keyboard.press("Escape")
    choose(lab, "Explain the Last Retrace")
    toast = lab.page.locator(".Toastify__toast-body", has_text="nbfn is not loaded")
    expect(toast).to_be_visible()


def test_a_cell_is_marked_as_traced_and_plain_again(lab) -> None:
    body = "x = 1\nx + 1"
    lab.open("toggle.ipynb", body, "%%time\n1")
    lab.cell(0).locator(".jp-InputPrompt").click()
    button = lab.cell(0).locator('[data-command="nbfn:toggle-traced"]')
    button.click()
    lab.expect_source(0, f"%%tf_function\n{body}")
    # The button is drawn again, and has no ears until then.
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_have_attribute("title", re.compile("remove %%tf_function"))
    button.click()
    lab.expect_source(0, body)
    lab.cell(0).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("Control+Alt+G")
    lab.expect_source(0, f"%%tf_function\n{body}")
    lab.cell(0).locator(".cm-content").click()
    expect(lab.cell(0).locator(".cm-focused")).to_be_visible()
    lab.page.keyboard.press("Control+Z")
    lab.expect_source(0, body)
    lab.cell(1).locator(".jp-InputPrompt").click()
    lab.page.keyboard.press("Control+Alt+G")
    expect(lab.page.locator(".Toastify__toast-body", has_text="%%time")).to_be_visible()
    lab.expect_source(1, "%%time\n1")


@pytest.fixture(scope="module")
def ran(shared_lab: Lab) -> Lab:
    """A notebook of two functions, of which one has retraced."""
    other = "@nbfn.function\ndef other(x):\n    return x + 1\n_ = other(tf.ones([2]))"
    shared_lab.open("answers.ipynb", SETUP + "rate = 0.5\n", other, RETRACE)
    for index in range(3):
        shared_lab.run(index)
    return shared_lab


def active(lab: Lab) -> Locator:
    found: Locator = lab.notebook.locator(".jp-Cell.jp-mod-active")
    return found


def is_answered(lab: Lab, code: str, answer: str) -> None:
    """The active cell, which has just been inserted, shows an answer."""
    expect(active(lab).locator(".cm-content")).to_have_text(code, use_inner_text=True)
    expect(active(lab).locator(".jp-OutputArea")).to_contain_text(answer)


def test_questions_are_answered_in_cells(ran: Lab) -> None:
    choose(ran, "Explain the Last Retrace")
    is_answered(ran, "%tf_explain step", "[3, 8]")
    for command, code, answer in (
        ("Show What Is Stale", "nbfn.session().dependencies", "0 stale functions"),
        ("Show the Devices", "nbfn.session().placement", "no call of step, other was watched"),
        ("Write a Report", 'nbfn.report("report.html")', "report.html"),
    ):
        choose(ran, command)
        is_answered(ran, f"import nbfn\n{code}", answer)
    page = (ran.server.notebooks / "report.html").read_text()
    assert '"name": "step"' in page


def test_a_graph_is_shown_of_the_active_cell_or_of_what_is_chosen(ran: Lab) -> None:
    ran.cell(0).locator(".jp-InputPrompt").click()
    choose(ran, "Show a Graph")
    is_answered(ran, "%tf_graph step", "Sum")
    choose(ran, "Show a Graph")
    ran.page.locator(".jp-Dialog select").select_option(label="other")
    ran.answer("Show")
    is_answered(ran, "%tf_graph other", "Add")


def test_the_session_is_exported_by_a_cell(ran: Lab, tmp_path: Path) -> None:
    choose(ran, "Export the Session")
    target = tmp_path / 'it\'s a "model"'
    ran.page.locator(".jp-Dialog input").fill(str(target))
    ran.answer("Export")
    code = f"import nbfn\ndisplay(nbfn.preflight())\nnbfn.export({json.dumps(str(target))})"
    expect(active(ran).locator(".cm-content")).to_have_text(code, use_inner_text=True)
    expect(active(ran).locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]:"))
    assert (target / "saved_model.pb").exists()


def test_all_cells_run_and_are_reported(lab) -> None:
    lab.open("all.ipynb", SETUP, RETRACE)
    lab.cell(0).locator(".jp-InputPrompt").click()
    for _ in range(2):
        choose(lab, "Run All Cells and Report")
        expect(lab.cell(2).locator(".jp-OutputArea-output").first).to_contain_text("step")
        lab.expect_source(2, "import nbfn\nnbfn.session()")
        expect(lab.notebook.locator(".jp-Cell")).to_have_count(3)


def test_a_badge_says_how_a_cell_fares(lab) -> None:
    # So many operations that a graph is surely faster.
    deep = "def deep(x):\n    for _ in range(200):\n        x = tf.sin(x)\n    return x\n"
    body = "%%tf_function train\nfor n in range(6):\n    x = deep(x) * 0.5\n    print(n)"
    functions = "%%tf_function\ndef double(x):\n    return x * 2"
    calls = "for n in (1, 2, 2):\n    double(tf.ones([n]))"
    lab.open("badges.ipynb", SETUP + deep + "x = tf.ones([8])", body, functions, calls)
    for index in (0, 1, 1, 2, 3):
        lab.run(index)
    badge = lab.cell(1).locator(".nbfn-Badge")
    counts = r"^1 of 3 statements in graphs · \d traces? · \d+ hits?$"
    expect(badge).to_have_text(re.compile(counts))
    expect(badge).to_have_attribute("title", re.compile("prints"))
    expect(lab.cell(2).locator(".nbfn-Badge")).to_have_text("2 traces · 1 hit")
    expect(lab.cell(0).locator(".nbfn-Badge")).to_have_count(0)
    lab.cell(1).locator(".cm-line").last.click()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type(" # x")
    expect(badge).to_contain_text("edited since it ran")
    for _ in range(4):
        lab.page.keyboard.press("Backspace")
    expect(badge).not_to_contain_text("edited since it ran")
    lab.page.keyboard.press("Control+S")
    saved = json.loads((lab.server.notebooks / "badges.ipynb").read_text())
    assert saved["cells"][1]["source"] in (body, body.splitlines(keepends=True))
