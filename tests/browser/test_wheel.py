"""The installed wheel renders the widget and the panel, on a machine without Node."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Lab, Server


def test_the_widget_and_the_panel_render(environment, browser, tmp_path) -> None:
    server = Server(tmp_path, environment / "bin" / "python")
    try:
        lab = Lab(browser.new_page(), server)
        lab.open(
            "installed.ipynb",
            "%load_ext nbfn\nimport tensorflow as tf",
            "%%tf_function\ndef double(x):\n    return x * 2",
            "double(tf.ones([2])); double(tf.ones([3]))",
        )
        lab.menu("Run", "Run All Cells")
        expect(lab.section("Functions")).to_contain_text("double")
        view = lab.cell(1).locator(".nbfn-View")
        expect(view).to_contain_text("Retraced double: x (2,) → (3,)")
    finally:
        server.stop()
