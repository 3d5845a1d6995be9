"""The graph of a call that was timed, and two graphs side by side, in real outputs."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Lab

SETUP = "%load_ext nbfn\nimport tensorflow as tf, nbfn"
DEFINE = """weights = tf.Variable(tf.ones([400, 400]))
seen = tf.Variable(0)
@nbfn.function
def f(x, n=2):
    with tf.name_scope("dense"):
        y = tf.nn.relu(x @ weights + 1.0)
    seen.assign_add(1)
    for _ in tf.range(n):
        y = tf.sin(y)
    return y
x = tf.ones([400, 400])
_ = f(x), f(x, 3)"""
TIMES = "%tf_graph --time f(x)"
DIFF = "nbfn.diff(*f.traces)"


@pytest.fixture(scope="module")
def ran(shared_lab: Lab) -> Lab:
    """A notebook with a timed call in the third cell and a difference in the fourth."""
    shared_lab.open("times.ipynb", SETUP, DEFINE, TIMES, DIFF)
    for index in range(4):
        shared_lab.run(index)
    shared_lab.page.keyboard.press("Control+b")
    for index in (2, 3):
        expect(shared_lab.cell(index).locator(".nbfn-Graph-canvas")).to_be_visible()
    return shared_lab


def box(lab: Lab, title: str, within: Locator) -> Locator:
    name = lab.page.locator(f".nbfn-Graph-title:text-is('{title}')")
    return within.locator(".nbfn-Graph-box", has=name).first


def redness(face: Locator) -> int:
    """How much more red than blue it is."""
    red, _, blue = face.evaluate(COLOUR)
    return int(red - blue)


COLOUR = """face => {
  const canvas = document.createElement('canvas').getContext('2d');
  canvas.fillStyle = getComputedStyle(face).fill;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""


def test_the_longer_the_more_of_the_colour_with_times_and_lines(ran: Lab) -> None:
    cell = ran.cell(2)
    expect(cell.locator(".nbfn-Graph select")).to_have_value("time")
    expect(cell.locator(".nbfn-Graph-legend")).to_contain_text("and more")
    dense = box(ran, "dense", cell)
    expect(dense).to_contain_text("ms")
    dense.dblclick()
    product, read = (box(ran, each, cell) for each in ("MatMul", "ReadVariableOp"))
    expect(product).to_have_class(re.compile("nbfn-mod-heat0"))
    slow, fast = (redness(each.locator(".nbfn-Graph-face")) for each in (product, read))
    assert slow > fast + 60
    product.click()
    expect(cell.locator(".nbfn-Graph-side")).to_contain_text(re.compile(r"time.*ms, \d+ %"))
    row = cell.locator("tr", has_text="dense/matmul").first  # the slowest
    row.get_by_role("button", name="In [2], line 6").click()
    expect(ran.cell(1)).to_have_class(re.compile("jp-mod-active"))


def test_what_only_waits_is_dotted(ran: Lab) -> None:
    cell = ran.cell(2)
    dotted = cell.locator(".nbfn-mod-control")
    expect(dotted.first).to_be_attached()
    assert dotted.first.evaluate("line => getComputedStyle(line).strokeDasharray") != "none"
    cell.get_by_label("Order").uncheck()
    expect(dotted).to_have_count(0)


def test_two_graphs_side_by_side_move_and_select_together(ran: Lab) -> None:
    cell = ran.cell(3)
    cell.get_by_role("button", name="Side by side").click()
    panes = cell.locator(".nbfn-Graph-pane")
    expect(panes).to_have_count(2)
    left, right = panes.nth(0), panes.nth(1)
    expect(left).to_contain_text("trace 1")
    cell.scroll_into_view_if_needed()

    def views() -> list[list[float]]:
        number = r"/-?[\d.]+(?:e-?\d+)?/g"
        script = f"all => all.map(g => g.getAttribute('transform').match({number}).map(Number))"
        return list(cell.locator(".nbfn-Graph-canvas > g").evaluate_all(script))

    before = views()
    assert before[0] == pytest.approx(before[1], abs=1)  # the border is half a pixel of one
    area = right.locator("svg").bounding_box()
    assert area is not None
    mouse = ran.page.mouse
    mouse.move(area["x"] + 12, area["y"] + area["height"] - 12)
    mouse.down()
    mouse.move(area["x"] + 72, area["y"] + area["height"] - 52, steps=4)
    mouse.up()
    for was, now in zip(before, views(), strict=True):
        assert now == pytest.approx([was[0] + 60, was[1] - 40, was[2]])

    cell.locator("button", has_text="Fit").click()
    box(ran, "dense", left).click()
    expect(cell.locator(".nbfn-Graph-box.nbfn-mod-selected")).to_have_count(2)
    box(ran, "dense", left).dblclick()
    for pane in (left, right):
        expect(box(ran, "MatMul", pane)).to_be_attached()
    cell.get_by_role("button", name="Differences").click()
    expect(cell.locator(".nbfn-Graph-box.nbfn-mod-changed.nbfn-mod-selected")).to_have_count(2)
    expect(box(ran, "2", left)).to_be_visible()
    expect(box(ran, "3", right)).to_be_visible()
