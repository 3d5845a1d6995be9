"""A cell that runs in segments: the line under it, the panel, and the marks beside its lines."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

SETUP = """
%load_ext nbfn
import tensorflow as tf
def slow(x):
    for _ in range(200):
        x = tf.tanh(x @ x)
    return x
x = tf.ones([8, 8])
"""
TRAIN = """%%tf_function train
for n in range(6):
    x = slow(tf.sin(x))
    print(n)"""
MARKS = ["Python: a loop", "runs in a graph", "Python: prints"]


def test_a_cell_shows_what_is_graph_and_how_fast_it_is(lab) -> None:
    lab.open("cells.ipynb", SETUP, TRAIN, "1")
    lab.run(0)
    for _ in range(3):
        lab.run(1)
    status = lab.cell(1).locator(".nbfn-PageView")
    expect(status).to_contain_text("1 of 3 statements in 1 graph (line 3)")
    expect(status).to_contain_text("Python: line 4 prints")
    expect(status).to_contain_text(re.compile(r"\d ms, eager \d"))
    summary = lab.cell(1).locator(".nbfn-Disclosure > summary")
    summary.focus()
    lab.page.keyboard.press("Enter")
    lines = lab.cell(1).get_by_role("list", name="Lines of the cell").get_by_role("listitem")
    expect(lines).to_have_text(
        [
            re.compile(r"2\s*for n in range\(6\):\s*a loop"),
            re.compile(r"3\s*x = slow\(tf.sin\(x\)\)\s*graph: .*s, eager .*s"),
            re.compile(r"4\s*print\(n\)\s*prints"),
        ]
    )
    expect(lab.cell(1).get_by_role("table").first).to_contain_text("float32[8, 8]")

    row = lab.section("Cells").locator(".nbfn-Row").first
    expect(row.locator("summary").first).to_contain_text(
        re.compile(r"train\s*In \[4\]\s*[\d.]+ ms · [\d.]+×")
    )
    expect(lab.section("Functions").locator(".nbfn-Row", has_text="train")).to_have_count(0)
    lab.run(2)
    row.locator("summary").first.click(position={"x": 6, "y": 8})
    expect(row).to_contain_text("x: float32[8, 8]")
    place = row.get_by_role("button", name="In [2], line 3", exact=True).first
    expect(place).to_have_count(0)  # a narrow panel shows it on demand
    row.get_by_role("button", name="more", exact=True).first.click()
    place.click()
    expect(lab.cell(1)).to_have_class(re.compile("jp-mod-active"))


def test_the_editor_marks_its_lines_until_they_are_edited(lab) -> None:
    lab.write("marks.ipynb", SETUP, TRAIN)
    lab.load("marks.ipynb")  # the panel stays closed
    lab.wait_for_kernel()
    lab.run(0)
    lab.run(1)
    marks = lab.cell(1).locator(".nbfn-Gutter [title]")
    _are(marks, MARKS)
    edited = lab.cell(1).locator(".cm-line").last
    assert abs(marks.last.bounding_box()["y"] - edited.bounding_box()["y"]) < 3
    edited.click()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type(" or x")
    expect(marks).to_have_count(0)
    lab.page.keyboard.press("Control+Enter")
    _are(marks, MARKS)
    lab.page.keyboard.press("Control+S")
    expect(lab.tab("marks.ipynb")).not_to_have_class(re.compile("jp-mod-dirty"))
    lab.page.reload()
    _are(marks, MARKS)
    expect(lab.cell(0).locator(".nbfn-Gutter")).to_have_count(0)


def _are(marks: Locator, titles: list[str]) -> None:
    expect(marks).to_have_count(len(titles))
    for mark, title in zip(marks.all(), titles, strict=True):
        expect(mark).to_have_attribute("title", title)


def test_lines_say_what_they_took_until_they_are_edited(lab) -> None:
    step = "@nbfn.function\ndef step(x):\n    y = x @ x @ x @ x\n    return tf.reduce_sum(y)"
    lab.open(
        "times.ipynb",
        "%load_ext nbfn\nimport nbfn\nimport tensorflow as tf",
        step,
        "x = tf.ones([300, 300])\nstep(x), nbfn.lines(step, x)",
    )
    for cell in range(3):
        lab.run(cell)
    times = lab.cell(1).locator(".cm-line .nbfn-LineTime")
    expect(times.first).to_have_text(re.compile(r"\d+ % · [\d.]+ [mµ]?s"))
    expect(lab.cell(1).locator(".cm-line").nth(2)).to_contain_text(" % · ")
    expect(lab.cell(2).locator(".nbfn-LineTime")).to_have_count(0)
    lab.cell(1).locator(".cm-content").click()
    lab.page.keyboard.press("End")
    lab.page.keyboard.type(" ")
    expect(times).to_have_count(0)
