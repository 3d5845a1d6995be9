"""The installed wheel renders the widget and the panel, on a machine without Node."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import TIMEOUT, Lab, Server
from tests.programs.environments import Place
from tests.programs.wheel import without_node

CELLS = (
    "%load_ext nbfn\nimport tensorflow as tf",
    "%%tf_function\ndef double(x):\n    return x * 2",
    "double(tf.ones([2])); double(tf.ones([3]))",
)
CONNECTED = """async () => {
  const kernels = await (await fetch("/api/kernels")).json();
  return kernels.some(kernel => kernel.connections > 0 && kernel.execution_state === "idle");
}"""


def test_the_labextension_is_enabled_and_ok(environment: Path) -> None:
    listed = subprocess.run(
        [str(environment / "bin" / "jupyter"), "labextension", "list"],
        capture_output=True,
        text=True,
        check=True,
        env=without_node(),
    )
    (line,) = [each for each in listed.stderr.splitlines() if "nbfn-labextension" in each]
    assert "enabled" in line
    assert "OK" in line


def test_the_widget_and_the_panel_render(environment, browser, tmp_path) -> None:
    server = Server(tmp_path, environment / "bin" / "python")
    try:
        lab = Lab(browser.new_page(), server)
        lab.open("installed.ipynb", *CELLS)
        lab.menu("Run", "Run All Cells")
        expect(lab.section("Functions")).to_contain_text("double")
        view = lab.cell(1).locator(".nbfn-View")
        expect(view).to_contain_text("double(x) retraced: x: shape was [2], is [3]")
    finally:
        server.stop()


def test_notebook_7_renders_the_widget(environment, browser, tmp_path) -> None:
    place = Place(environment)
    if place.version_of("notebook") is None:
        pytest.skip("Notebook is no part of the wheel's environment: make versions ONLY=notebook-7")
    server = Server(tmp_path, place.python, app="notebook")
    try:
        lab = Lab(browser.new_page(), server)
        lab.write("installed.ipynb", *CELLS)
        lab.page.goto(f"{server.url}/notebooks/installed.ipynb")
        expect(lab.cell(2)).to_be_visible()
        # The notebook's own indicator says too early that cells can be run.
        lab.page.wait_for_function(CONNECTED, timeout=TIMEOUT)
        lab.menu("Run", "Run All Cells")
        view = lab.cell(1).locator(".nbfn-View")
        expect(view).to_contain_text("double(x) retraced: x: shape was [2], is [3]")
    finally:
        server.stop()
