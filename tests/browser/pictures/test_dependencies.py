"""What depends on what, and models, as a page and in the panel."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

CELLS = (
    "%load_ext nbfn\nimport tensorflow as tf, nbfn\nfrom nbfn import nn",
    "rate = 0.1\nspec = nn.Sequential([nn.Dense(2)])",
    "@nbfn.function\ndef step(x):\n    return x * rate + w",
    "w = tf.Variable([1.0])",
    "step(tf.ones([1]))",
    "rate = 0.2",
    "nbfn.session().dependencies",
)


def test_a_stale_trace_leads_to_what_to_run_again(lab: Any) -> None:
    lab.open("stale.ipynb", *CELLS)
    for index in range(len(CELLS)):
        lab.run(index)
    page = lab.cell(6).locator(".nbfn-PageView")
    expect(page).to_contain_text("1 stale function, 1 outdated cell")
    diagram = page.locator(".nbfn-Diagram")
    marked = diagram.locator(".nbfn-Diagram-node.nbfn-mod-marked")
    expect(marked).to_have_text([re.compile(r"In \[5\]"), re.compile("step")])
    expect(diagram.locator(".nbfn-Diagram-arrow.nbfn-mod-marked")).to_have_count(2)
    for node in diagram.locator(".nbfn-Diagram-node").all():
        box = node.bounding_box()
        assert box is not None
        assert box["width"] > 20
    colours = [
        node.evaluate("each => getComputedStyle(each).borderTopColor")
        for node in (
            marked.first,
            diagram.locator(".nbfn-Diagram-node:not(.nbfn-mod-marked)").first,
        )
    ]
    assert colours[0] != colours[1]
    marked.first.click()
    expect(lab.cell(4)).to_have_class(re.compile("jp-mod-active"))
    lab.run(4)
    lab.run(6)
    expect(page).to_contain_text("0 stale functions, 0 outdated cells")


def test_a_model_is_in_the_panel_before_its_first_call(lab: Any) -> None:
    lab.open("models.ipynb", *CELLS[:2], "net = spec.bind(spec.init(nn.key(0), tf.ones([1, 3])))")
    lab.run(0)
    lab.run(1)
    models = lab.open_section("Models").locator(".nbfn-Row > summary")
    row = models.filter(has_text="spec")
    expect(row).to_contain_text("Sequential, no variables yet")
    lab.run(2)
    row = models.filter(has_text="net")
    expect(row).to_contain_text("Sequential, 8 parameters")
    row.click()
    tree = lab.panel.locator(".nbfn-Tree")
    expect(tree.locator("tbody tr")).to_have_count(4)
    tree.get_by_role("button", name="net").click()
    expect(tree.locator("tbody tr")).to_have_count(1)
    lab.panel.get_by_role("button", name="what training has changed").click()
    lab.expect_source(3, 'nbfn.session().tabulate("net")')
    expect(lab.cell(3).locator(".nbfn-Tree")).to_contain_text("in no trace")
