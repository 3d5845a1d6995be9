"""Outputs that last: live while their kernel lives, and what they were when it is gone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from nbfn import protocol
from tests.browser.conftest import Lab

NAME = "outputs.ipynb"
SETUP = "%load_ext nbfn\nimport tensorflow as tf, nbfn"
SHOW = "@nbfn.function\ndef f(x):\n    return x * 2\n_ = f(tf.ones([2]))\nf"
CALL = "_ = f(tf.ones([3]))"
SESSION = "nbfn.session()"
GONE = "Last state; its kernel is gone."
RETRACED = re.compile(r"f\(x\)\s+retraced: x: shape was \[2\], is \[3\]")


def run_in(lab: Lab, name: str) -> None:
    """Runs a notebook that shows a function and the session, and changes them afterwards."""
    lab.open(name, SETUP, SHOW, SESSION, CALL)
    for index in range(4):
        lab.run(index)
    expect(lab.cell(1).locator(".nbfn-Page-call")).to_contain_text(RETRACED)


@pytest.fixture(scope="module")
def ran(shared_lab: Lab) -> Lab:
    run_in(shared_lab, NAME)
    return shared_lab


def is_gone(lab: Lab, index: int) -> None:
    """The output of a cell is the last state, with nothing to press that acts."""
    cell = lab.cell(index)
    expect(cell.locator(".nbfn-Gone")).to_have_text(GONE)
    expect(cell).to_contain_text("every size of x")
    expect(cell.locator(".nbfn-Remedy button")).to_have_count(0)


def test_a_saved_notebook_shows_its_end_without_a_kernel(ran: Lab) -> None:
    expect(ran.cell(1).locator(".nbfn-Remedy button")).to_have_count(1)
    document = ran.save(NAME)
    outputs = [output for cell in document["cells"] for output in cell["outputs"]]
    for output in outputs:
        if "data" in output:
            assert output["data"].keys() == {protocol.MIME_TYPE, "text/html", "text/plain"}
    gone = ran.open_without_kernel(document)
    for index in (1, 2):
        is_gone(gone, index)
    expect(gone.cell(1).locator(".nbfn-Page-call")).to_contain_text(RETRACED)
    expect(gone.page.get_by_text("model not found")).to_have_count(0)


def test_a_page_that_runs_nothing_shows_its_end(ran: Lab, tmp_path: Path) -> None:
    ran.save(NAME)
    page = ran.open_as_html(NAME, tmp_path)
    expect(page.locator("body")).to_contain_text("retraced: x: shape was [2], is [3]")
    expect(page.locator("body")).to_contain_text("session: 1 function")
    page.context.close()


def test_notebook_7_draws_the_same(ran: Lab) -> None:
    # A copy, which has no kernel of its own yet; JupyterLab's server serves Notebook 7 too.
    copied = ran.server.notebooks / "copied.ipynb"
    copied.write_text(json.dumps(ran.save(NAME)))
    page = ran.page.context.new_page()  # without what is listened for: it has errors of its own
    failures: list[Any] = []
    page.on("pageerror", lambda error: failures.append(error))
    page.goto(f"{ran.server.url}/notebooks/{copied.name}")
    output = page.locator(".jp-Cell").nth(1)
    expect(output.locator(".nbfn-Page-call")).to_contain_text(RETRACED)
    expect(output.locator(".nbfn-Gone")).to_have_text(GONE)
    assert not [each for each in failures if "nbfn" in str(each.stack)]


def test_a_view_whose_kernel_ends_says_so(lab: Lab) -> None:
    run_in(lab, "ends.ipynb")
    lab.menu("Kernel", "Restart Kernel…")
    lab.answer("Restart")
    for index in (1, 2):
        is_gone(lab, index)
    for index in (0, 1):
        lab.run(index)
    expect(lab.cell(1).locator(".nbfn-Gone")).to_have_count(0)
    expect(lab.cell(1)).to_contain_text("f(x) traced: first call")
    is_gone(lab, 2)
    lab.run(3)
    expect(lab.cell(1).locator(".nbfn-Page-call")).to_contain_text(RETRACED)
    lab.menu("Kernel", "Shut Down Kernel")
    for index in (1, 2):
        is_gone(lab, index)


def test_what_another_version_wrote_is_text(lab: Lab) -> None:
    data = {
        protocol.MIME_TYPE: {"view": "function", "snapshot": {"protocol": 99, "state": {}}},
        "text/plain": "f(x): <b>as it was</b>",
    }
    lab.write("newer.ipynb", "1")
    path = lab.server.notebooks / "newer.ipynb"
    document = json.loads(path.read_text())
    output = {"output_type": "display_data", "metadata": {}, "data": data}
    document["cells"][0]["outputs"] = [output]
    path.write_text(json.dumps(document))
    lab.load("newer.ipynb")
    expect(lab.cell(0)).to_contain_text("written by another version of nbfn")
    expect(lab.cell(0).locator("pre", has_text="f(x): <b>as it was</b>")).to_be_visible()
