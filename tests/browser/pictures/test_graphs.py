"""The picture of a graph in real outputs: opened, searched, carved, saved, compared, and kept."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, expect

from nbfn import protocol
from tests.browser.conftest import Lab

NAME = "graphs.ipynb"
SETUP = "%load_ext nbfn\nimport tensorflow as tf, nbfn"
DEFINE = """weights = tf.Variable(tf.ones([3, 4]))
@nbfn.function
def f(x, n=2):
    with tf.name_scope("dense"):
        y = tf.nn.relu(x @ weights + 1.0)
    for _ in tf.range(n):
        y = y * 2.0
    return y
_ = f(tf.ones([2, 3])), f(tf.ones([2, 3]), 3)"""
GRAPH = "%tf_graph f --trace 1"
DIFF = "nbfn.diff(*f.traces)"


@pytest.fixture(scope="module")
def ran(shared_lab: Lab) -> Lab:
    """A notebook with a difference in the third cell and a graph in the two that follow."""
    shared_lab.open(NAME, SETUP, DEFINE, DIFF, GRAPH, GRAPH)
    for index in range(5):
        shared_lab.run(index)
    shared_lab.page.keyboard.press("Control+b")
    for index in (2, 3, 4):
        expect(canvas(shared_lab, index)).to_be_visible()
    return shared_lab


def canvas(lab: Lab, index: int = 4) -> Locator:
    found: Locator = lab.cell(index).locator(".nbfn-Graph-canvas")
    return found


def box(lab: Lab, title: str, index: int = 4) -> Locator:
    name = lab.page.locator(f".nbfn-Graph-title:text-is('{title}')")
    found: Locator = lab.cell(index).locator(".nbfn-Graph-box", has=name)
    return found.first


def side(lab: Lab, index: int = 4) -> Locator:
    found: Locator = lab.cell(index).locator(".nbfn-Graph-side")
    return found


def test_a_graph_is_opened_carved_and_leads_to_the_code(ran: Lab) -> None:
    expect(box(ran, "MatMul")).to_have_count(0)
    box(ran, "dense").dblclick()
    box(ran, "MatMul").click()
    expect(side(ran)).to_contain_text("dense/matmul")
    expect(side(ran)).to_contain_text("float32[2, 4]")
    side(ran).get_by_role("button", name="In [2], line 5").click()
    expect(ran.cell(1)).to_have_class(re.compile("jp-mod-active"))

    ran.cell(4).locator("input[type=search]").fill("mul")
    expect(ran.cell(4).locator(".nbfn-Graph-steps").first).to_contain_text(" of ")
    ran.cell(4).locator("input[type=search]").fill("while/mul")
    expect(side(ran)).to_contain_text("In [2], line 7")

    canvas(ran).focus()
    ran.page.keyboard.press("Escape")
    expect(side(ran)).to_contain_text("Choose an operation")
    for _ in range(2):
        ran.page.keyboard.press("ArrowDown")
    expect(canvas(ran)).to_be_focused()
    expect(side(ran)).not_to_contain_text("Choose an operation")

    side(ran).page.keyboard.press("0")
    box(ran, "MatMul").click()
    side(ran).get_by_role("button", name="output", exact=True).click()
    side(ran).get_by_role("button", name="x", exact=True).click()
    side(ran).get_by_role("button", name="input", exact=True).click()
    ran.cell(4).get_by_role("button", name="Carve this part").click()
    inserted = ran.notebook.locator(".jp-Cell.jp-mod-active")
    code = 'carved = f.traces[0].carve(["x"], ["dense/matmul"])\ncarved'
    expect(inserted.locator(".cm-content")).to_have_text(code, use_inner_text=True)
    ran.page.keyboard.press("Escape")
    ran.page.keyboard.press("Control+Enter")
    expect(inserted).to_contain_text("f_carved")


def test_a_drawing_looks_alike_without_the_page(ran: Lab, tmp_path: Path) -> None:
    box(ran, "dense", 3).dblclick()
    face = box(ran, "MatMul", 3).locator(".nbfn-Graph-face")
    shown = face.evaluate(COLOUR)
    with ran.page.expect_download() as waiting:
        ran.cell(3).get_by_role("button", name="Save SVG").click()
    assert waiting.value.suggested_filename == "f-trace-1.svg"
    path = tmp_path / "graph.svg"
    waiting.value.save_as(path)
    text = path.read_text()
    words = ["".join(each.itertext()) for each in ElementTree.fromstring(text).iter()]
    assert {"MatMul", "weights", "float32[2, 4]"} <= set(words)
    assert not re.search(r"var\(|class=|color\(|color-mix", text)
    page = ran.page.context.new_page()
    page.goto(path.as_uri())
    place = page.locator("g", has=page.locator("text:text-is('MatMul')")).last
    corner = place.evaluate("g => { const r = g.getBoundingClientRect(); return [r.x, r.y]; }")
    seen = page.evaluate(PIXEL, [text, corner[0] + 10, corner[1] + 10])
    assert max(abs(one - other) for one, other in zip(seen, shown, strict=True)) <= 2, (seen, shown)
    assert seen != [255, 255, 255]


COLOUR = """face => {
  const canvas = document.createElement('canvas').getContext('2d');
  canvas.fillStyle = getComputedStyle(face).fill;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""

PIXEL = """async ([text, x, y]) => {
  const image = new Image();
  image.src = 'data:image/svg+xml,' + encodeURIComponent(text);
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
  canvas.drawImage(image, 0, 0);
  return [...canvas.getImageData(x, y, 1, 1).data].slice(0, 3);
}"""


def test_two_graphs_are_compared_and_kept_without_a_kernel(ran: Lab) -> None:
    graph = ran.cell(2).locator(".nbfn-Graph")
    expect(graph).to_contain_text("only in trace 1")
    graph.get_by_role("button", name="Differences").click()
    expect(graph.locator(".nbfn-Graph-change").first).to_contain_text("2 → 3")

    document = ran.save(NAME)
    data = [output["data"] for cell in document["cells"][2:5] for output in cell["outputs"]]
    assert [each.keys() for each in data] == [{protocol.MIME_TYPE, "text/html", "text/plain"}] * 3
    gone = ran.open_without_kernel(document)
    box(gone, "dense").dblclick()
    expect(box(gone, "MatMul")).to_be_visible()
    expect(gone.cell(4).get_by_role("button", name="Save SVG")).to_be_visible()
    expect(gone.cell(4).get_by_role("button", name="GraphDef")).to_have_count(0)
