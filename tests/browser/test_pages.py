"""Results as pages: folded, side by side, with remedies that become cells, and without a kernel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from nbfn import protocol

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


@pytest.fixture
def ran(lab: Any) -> Any:
    """A notebook with a page in the output of each cell from the third on."""
    cells = (SETUP, DEFINE, EXPLAIN, DIFF, CHECK, EXPORT, PLACEMENT)
    lab.open("pages.ipynb", *cells)
    for index in range(len(cells)):
        lab.run(index)
    expect(title(lab, 6)).to_have_text("many(tf.ones([2]))")
    return lab


def title(lab: Any, index: int) -> Locator:
    found: Locator = lab.cell(index).locator(".nbfn-Page-title")
    return found


def sides(lab: Any, index: int) -> list[str]:
    return list(lab.cell(index).locator("td.nbfn-mod-before, td.nbfn-mod-after").all_inner_texts())


def fold(lab: Any, index: int, name: str) -> Locator:
    """The line that folds a part of a page."""
    found: Locator = lab.cell(index).locator("summary", has_text=re.compile(f"^{name}"))
    return found


def save(lab: Any) -> Path:
    lab.page.keyboard.press("Control+s")
    expect(lab.tab("pages.ipynb")).not_to_have_class(re.compile("jp-mod-dirty"))
    path: Path = lab.server.notebooks / "pages.ipynb"
    return path


def test_pages_are_read_folded_and_acted_upon(ran: Any) -> None:
    assert sides(ran, 3)[:4] == ["(2,)", "(3,)", "2", "4"]

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

    assert sides(ran, 2) == ["(3,)", "(5,)", "4", "6"]
    ran.cell(2).get_by_role("button", name="Let one trace serve").click()
    expect(ran.cell(3).locator(".cm-content")).to_have_text("f.relax()")
    ran.run(3)
    ran.run(2)
    expect(title(ran, 2)).to_have_text("a hit")


def test_a_page_stays_without_a_kernel_and_without_a_script(ran: Any, tmp_path: Path) -> None:
    expect(ran.cell(2).locator(".nbfn-Remedy button")).to_have_count(1)
    path = save(ran)
    document = json.loads(path.read_text())
    kept = [output for cell in document["cells"] for output in cell["outputs"]]
    pages = [output["data"] for output in kept if protocol.MIME_TYPE in output.get("data", {})]
    assert len(pages) == 5
    for data in pages:
        assert data.keys() == {protocol.MIME_TYPE, "text/html", "text/plain"}
        saved = protocol.SavedView.model_validate(data[protocol.MIME_TYPE])
        assert saved.snapshot.state == protocol.State()

    ran.server.stop_kernels()
    document["metadata"]["kernelspec"] = {"name": "none", "display_name": "None"}
    path.write_text(json.dumps(document))
    ran.page.goto(f"{ran.server.url}/lab/tree/pages.ipynb?reset")
    ran.answer("No Kernel")
    expect(title(ran, 2)).to_have_text("would retrace")
    expect(ran.cell(2)).to_contain_text("Let one trace serve every size of x")
    expect(ran.cell(2).locator(".nbfn-Remedy button")).to_have_count(0)
    expect(ran.cell(2).locator(".nbfn-Gone")).to_have_count(0)
    assert sides(ran, 3)[:4] == ["(2,)", "(3,)", "2", "4"]

    convert = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(tmp_path)]
    subprocess.run([*convert, str(path)], check=True, capture_output=True)
    page = ran.page.context.browser.new_context(java_script_enabled=False, offline=True).new_page()
    page.goto((tmp_path / "pages.html").as_uri())
    expect(page.locator("body")).to_contain_text("f.relax()")
    types = page.locator("details:not(:has(details))", has_text="types").last
    expect(types.locator("table")).to_be_visible()
    types.locator("summary").click()
    expect(types.locator("table")).to_be_hidden()
    page.context.close()
