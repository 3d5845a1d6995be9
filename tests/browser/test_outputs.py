"""Outputs that last: live while their kernel lives, and what they were when it is gone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from nbfn import protocol
from tests.browser.conftest import Server

SETUP = "%load_ext nbfn\nimport tensorflow as tf, nbfn"
SHOW = "@nbfn.function\ndef f(x):\n    return x * 2\n_ = f(tf.ones([2]))\nf"
CALL = "_ = f(tf.ones([3]))"
SESSION = "nbfn.session()"
GONE = "Last state; its kernel is gone."
RETRACED = re.compile(r"Retraced\s+f:\s+x\s+\(2,\)\s*.\s*\(3,\)")


@pytest.fixture
def ran(lab: Any) -> Any:
    """A notebook that shows a function and the session, and changes them afterwards."""
    lab.open("outputs.ipynb", SETUP, SHOW, SESSION, CALL)
    for index in range(4):
        lab.run(index)
    expect(lab.cell(1).locator(".nbfn-StatusLine-text")).to_have_text(RETRACED)
    return lab


def save(lab: Any) -> Path:
    lab.page.keyboard.press("Control+s")
    expect(lab.tab("outputs.ipynb")).not_to_have_class(re.compile("jp-mod-dirty"))
    path: Path = lab.server.notebooks / "outputs.ipynb"
    return path


def bundles(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text())["cells"]
    return [output["data"] for cell in cells for output in cell["outputs"] if "data" in output]


def is_gone(lab: Any, index: int) -> None:
    """The output of a cell is the last state, with nothing to press that acts."""
    cell = lab.cell(index)
    expect(cell.locator(".nbfn-Gone")).to_have_text(GONE)
    expect(cell).to_contain_text("size of x")
    expect(cell.locator(".nbfn-Remedy button")).to_have_count(0)


def test_a_saved_notebook_shows_its_end_without_a_kernel(ran: Any) -> None:
    expect(ran.cell(1).locator(".nbfn-Remedy button")).to_have_count(1)
    path = save(ran)
    for data in bundles(path):
        assert data.keys() == {protocol.MIME_TYPE, "text/html", "text/plain"}
    ran.server.stop_kernels()
    document = json.loads(path.read_text())
    document["metadata"]["kernelspec"] = {"name": "none", "display_name": "None"}
    ran.server.notebooks.joinpath("outputs.ipynb").write_text(json.dumps(document))
    ran.page.goto(f"{ran.server.url}/lab/tree/outputs.ipynb?reset")
    ran.answer("No Kernel")
    for index in (1, 2):
        expect(ran.cell(index).locator(".nbfn-Gone")).to_have_text(GONE)
        is_gone(ran, index)
    expect(ran.cell(1).locator(".nbfn-StatusLine-text")).to_have_text(RETRACED)
    expect(ran.page.get_by_text("model not found")).to_have_count(0)


def test_a_page_that_runs_nothing_shows_its_end(ran: Any, tmp_path: Path) -> None:
    path = save(ran)
    convert = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(tmp_path)]
    subprocess.run([*convert, str(path)], check=True, capture_output=True)
    page = ran.page.context.browser.new_context(java_script_enabled=False, offline=True).new_page()
    page.goto((tmp_path / "outputs.html").as_uri())
    expect(page.locator("body")).to_contain_text("retraced: x: shape was (2,), is (3,)")
    expect(page.locator("body")).to_contain_text("session: 1 function")
    page.context.close()


def test_notebook_7_draws_the_same(ran: Any, tmp_path: Path) -> None:
    save(ran)
    server = Server(tmp_path, app="notebook", notebooks=ran.server.notebooks)
    try:
        page = ran.page.context.new_page()  # without what is listened for: it has errors of its own
        failures: list[Any] = []
        page.on("pageerror", lambda error: failures.append(error))
        page.goto(f"{server.url}/notebooks/outputs.ipynb")
        output = page.locator(".jp-Cell").nth(1)
        expect(output.locator(".nbfn-StatusLine-text")).to_have_text(RETRACED)
        expect(output.locator(".nbfn-Gone")).to_have_text(GONE)
        assert not [each for each in failures if "nbfn" in str(each.stack)]
    finally:
        server.stop()


@pytest.mark.parametrize("how", ["restarted", "shut down"])
def test_a_view_whose_kernel_ends_says_so(ran: Any, how: str) -> None:
    if how == "restarted":
        ran.menu("Kernel", "Restart Kernel…")
        ran.answer("Restart")
    else:
        ran.menu("Kernel", "Shut Down Kernel")
    is_gone(ran, 1)
    is_gone(ran, 2)
    if how == "restarted":
        for index in (0, 1):
            ran.run(index)
        expect(ran.cell(1).locator(".nbfn-Gone")).to_have_count(0)
        expect(ran.cell(1)).to_contain_text("Traced f for the first time")
        is_gone(ran, 2)
        ran.run(3)
        expect(ran.cell(1).locator(".nbfn-StatusLine-text")).to_have_text(RETRACED)


def test_what_another_version_wrote_is_text(lab: Any) -> None:
    data = {
        protocol.MIME_TYPE: {"view": "function", "snapshot": {"protocol": 99, "state": {}}},
        "text/plain": "f(x): <b>as it was</b>",
    }
    lab.open("outputs.ipynb", "1")
    path = lab.server.notebooks / "outputs.ipynb"
    document = json.loads(path.read_text())
    output = {"output_type": "display_data", "metadata": {}, "data": data}
    document["cells"][0]["outputs"] = [output]
    path.write_text(json.dumps(document))
    lab.page.goto(f"{lab.server.url}/lab/tree/outputs.ipynb?reset")
    expect(lab.cell(0)).to_contain_text("written by another version of nbfn")
    expect(lab.cell(0).locator("pre", has_text="f(x): <b>as it was</b>")).to_be_visible()
