"""Results as pages: folded, side by side, with remedies that become cells, and without a kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from nbfn import protocol
from tests.browser.conftest import Lab

NAME = "pages.ipynb"
SETUP = "%load_ext nbfn\nimport tensorflow as tf, nbfn"
DEFINE = """seen = []
@nbfn.function
def f(x, n=2):
    seen.append(1)
    return x * n
_ = f(tf.ones([2])), f(tf.ones([3]), n=4)
"""
EXPLAIN = "f.explain(tf.ones([5]), n=6)"
DIFF = "nbfn.diff(*f.traces)"
CHECK = "f.check(tf.ones([2]))"
EXPORT = """@nbfn.function
def g(x): return tf.py_function(lambda v: v, [x], tf.float32)
_ = g(tf.ones([2]))
%tf_export model g"""
PLACEMENT = """@nbfn.function
def many(x):
    for n in range(300): x = tf.sin(x) * float(n)
    return x
%tf_placement many(tf.ones([2]))"""


@pytest.fixture(scope="module")
def ran(shared_lab: Lab) -> Lab:
    """A notebook with a page in the output of each cell from the third on."""
    cells = (SETUP, DEFINE, EXPLAIN, DIFF, CHECK, EXPORT, PLACEMENT, EXPLAIN)
    shared_lab.open(NAME, *cells)
    for index in range(len(cells)):
        shared_lab.run(index)
    expect(title(shared_lab, 6)).to_have_text("many(tf.ones([2]))")
    return shared_lab


def title(lab: Lab, index: int) -> Locator:
    found: Locator = lab.cell(index).locator(".nbfn-Page-title")
    return found


def sides(lab: Lab, index: int) -> list[str]:
    return list(lab.cell(index).locator("td.nbfn-mod-before, td.nbfn-mod-after").all_inner_texts())


def fold(lab: Lab, index: int, name: str) -> Locator:
    """The line that folds a part of a page."""
    found: Locator = lab.cell(index).locator("summary", has_text=re.compile(f"^{name}"))
    return found


def test_pages_are_read_folded_and_acted_upon(ran: Lab) -> None:
    assert sides(ran, 3)[:4] == ["[2]", "[3]", "2", "4"]

    expect(title(ran, 5)).to_have_text("1 obstacle, 0 remarks")
    expect(ran.cell(5)).to_contain_text("write that part with TensorFlow's operations")

    page = ran.cell(6).locator(".nbfn-PageView")
    expect(page).to_contain_text(re.compile(r"CPU:0: \d+ operations"))
    rows = page.locator("tbody tr")
    few = rows.count()
    assert few < 10
    fold(ran, 6, "operations").click()
    expect(rows).to_have_count(few + 20)
    page.locator("input").fill("sin_17")
    expect(page.locator(".nbfn-Filter [role=status]")).to_contain_text("found")
    fold(ran, 6, "CPU:0").click()
    expect(rows).to_have_count(0)

    title(ran, 4).click()
    ran.cell(4).get_by_role("button", name=re.compile(r"^In \[2\], line 4$")).first.click()
    expect(ran.cell(1)).to_have_class(re.compile("jp-mod-active"))

    assert sides(ran, 7) == ["[3]", "[5]", "4", "6"]
    ran.cell(7).get_by_role("button", name="Let one trace serve").click()
    expect(ran.cell(8).locator(".cm-content")).to_have_text("f.relax()")
    ran.run(8)
    ran.run(7)
    expect(title(ran, 7)).to_have_text("a hit")


def test_a_page_stays_without_a_kernel_and_without_a_script(ran: Lab, tmp_path: Path) -> None:
    expect(ran.cell(2).locator(".nbfn-Remedy button")).to_have_count(1)
    document = ran.save(NAME)
    kept = [output for cell in document["cells"][:8] for output in cell["outputs"]]
    pages = [output["data"] for output in kept if protocol.MIME_TYPE in output.get("data", {})]
    assert len(pages) == 6
    for data in pages:
        assert data.keys() == {protocol.MIME_TYPE, "text/html", "text/plain"}
        saved = protocol.SavedView.model_validate(data[protocol.MIME_TYPE])
        assert saved.snapshot.state == protocol.Rows()

    gone = ran.open_without_kernel(document)
    expect(title(gone, 2)).to_have_text("would retrace")
    expect(gone.cell(2)).to_contain_text("Let one trace serve every size of x")
    expect(gone.cell(2).locator(".nbfn-Remedy button")).to_have_count(0)
    expect(gone.cell(2).locator(".nbfn-Gone")).to_have_count(0)
    assert sides(gone, 3)[:4] == ["[2]", "[3]", "2", "4"]

    page = ran.open_as_html(NAME, tmp_path)
    expect(page.locator("body")).to_contain_text("f.relax()")
    types = page.locator("details:not(:has(details))", has_text="types").last
    expect(types.locator("table")).to_be_visible()
    types.locator("summary").click()
    expect(types.locator("table")).to_be_hidden()
    page.context.close()
