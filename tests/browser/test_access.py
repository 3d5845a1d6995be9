"""For everyone: axe finds nothing in any theme; a narrow sidebar and large text lose nothing."""

from __future__ import annotations

import json

import pytest

from tests.browser.conftest import ROOT, Lab

AXE = ROOT / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
SETUP = """
%load_ext nbfn
import nbfn
import tensorflow as tf

weights = tf.Variable(tf.ones([8, 2]), name="weights")
net = tf.Module()
net.weights = weights

@nbfn.function
def a_step_with_a_rather_long_name(images, labels=None):
    return tf.reduce_sum(images @ weights)
"""
BODY = "%%tf_function\nfor n in range(3):\n    x = tf.reduce_sum(weights) + n\n    print(n)"
RETRACE = "for n in (1, 2, 3):\n    a_step_with_a_rather_long_name(tf.ones([n, 8]))"
SHOWN = "a_step_with_a_rather_long_name"
GRAPH = f"%tf_graph {SHOWN}"
WIDE = """
panel => [...panel.querySelectorAll('.nbfn-Panel-view, .nbfn-Header, .nbfn-Panel-body')]
  .filter(each => each.scrollWidth > each.clientWidth + 1)
  .map(each => each.className)
"""


TEXTS = ":is(strong, code, th, td, button, summary, .nbfn-Fact, .nbfn-Note)"
CONTRASTS = """
elements => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const over = colors => {
    canvas.clearRect(0, 0, 1, 1);
    for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = color => {
    const [r, g, b] = color.map(v => v / 255).map(
      v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return elements.map(element => {
    const behind = [];
    for (let at = element; at; at = at.parentElement) {
      behind.unshift(getComputedStyle(at).backgroundColor);
    }
    const text = light(over([...behind, getComputedStyle(element).color]));
    const back = light(over(behind));
    const contrast = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    return [contrast, element.textContent];
  });
}
"""


@pytest.fixture(scope="module")
def filled(shared_lab: Lab) -> Lab:
    """A notebook with something in every view."""
    lab = shared_lab
    lab.open("access.ipynb", SETUP, BODY, RETRACE, SHOWN, "nbfn.session()", GRAPH)
    for index in range(6):
        lab.run(index)
    lab.cell(5).locator(".nbfn-Graph-box").first.click()
    for row in lab.panel.locator(".nbfn-Row > summary").all():
        row.click()
    for index in (1, 3):
        lab.cell(index).locator(".nbfn-Disclosure > summary").click()
    return lab


def found(lab: Lab) -> list[str]:
    """What axe finds in the panel, in outputs and in badges."""
    lab.page.evaluate(AXE.read_text())
    parts = "['#nbfn-session-panel'], ['.nbfn-Output'], ['.nbfn-Badge']"
    result = lab.page.evaluate(f"async () => await axe.run({{include: [{parts}]}})")
    return [
        f"{violation['id']}: {json.dumps(node['target'])} {node['failureSummary']}"
        for violation in result["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize(
    "theme", ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]
)
def test_axe_finds_nothing_and_each_text_can_be_read(filled: Lab, theme: str) -> None:
    filled.menu("Settings", "Theme", theme)
    filled.page.wait_for_function(
        "name => document.body.dataset.jpThemeName?.includes(name)", arg=theme
    )
    assert found(filled) == []
    # Axe does not know what is behind a text in JupyterLab, and leaves contrasts out.
    for place in (filled.cell(1), filled.cell(3), filled.panel):
        contrasts = place.locator(f".nbfn-View {TEXTS}").evaluate_all(CONTRASTS)
        assert len(contrasts) > 5
        assert [each for each in contrasts if each[0] < 4.5] == []


def test_a_narrow_sidebar_and_large_text_lose_nothing(filled: Lab) -> None:
    panel = filled.panel
    for width, zoom in ((220, 1), (400, 2)):
        panel.evaluate(
            "(panel, [width, zoom]) => {"
            " panel.style.width = width + 'px'; panel.style.zoom = zoom; }",
            [width, zoom],
        )
        assert panel.evaluate(WIDE) == []
