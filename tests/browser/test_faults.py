"""Faults: whatever happens to the kernel or the page, the panel says what is true, and soon."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

SOON = 10_000
"""Milliseconds within which the panel is right, once JupyterLab knows: two seconds on an idle
machine, and more where other tests run beside this one."""
EMPTY = "No function has been traced yet."
NOT_LOADED = "nbfn is not loaded in this kernel."
SETUP = """
%load_ext nbfn
import time
import nbfn
import tensorflow as tf

@nbfn.function
def step(images):
    return tf.reduce_sum(images)
"""
LONG = "for n in range(36000):\n    step(tf.ones([1, 8]))\n    time.sleep(0.1)"


LOSE = """
const lost = (window.lost = []), toLose = (window.toLose = []);
const loses = data => {
  const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
  const index = toLose.findIndex(words => words.every(word => text.includes(word)));
  if (index >= 0) lost.push(...toLose.splice(index, 1));
  return index >= 0;
};
const { send } = WebSocket.prototype;
WebSocket.prototype.send = function (data) {
  if (!loses(data)) send.call(this, data);
};
const { get, set } = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
Object.defineProperty(WebSocket.prototype, 'onmessage', {
  get,
  set(listener) {
    set.call(this, event => loses(event.data) || listener.call(this, event));
  }
});
"""
"""Loses the first message of either direction with all words of an entry of `toLose`."""


def lose(lab, *messages: str) -> None:
    """Has messages lost from now on, one with all words of each text."""
    lab.page.evaluate("all => toLose.push(...all)", [text.split() for text in messages])


def expect_lost(lab, *messages: str) -> None:
    lost = [" ".join(words) for words in lab.page.evaluate("window.lost")]
    assert sorted(lost) == sorted(messages)


def status(lab):
    return lab.page.locator("#jp-main-statusbar")


CALLS = ".nbfn-Page-inside > .nbfn-Muted >> nth=0"
"""How often a function was called, in the row that is open."""


def follows_the_calls(lab) -> None:
    """The number of calls grows while the cell runs."""
    row = lab.section("Functions").locator(".nbfn-Row")
    # After a restart it may still be open.
    row.locator("summary").first.evaluate("each => each.parentElement.open || each.click()")
    calls = row.locator(CALLS)
    expect(calls).to_have_text(re.compile(r"\d+ calls?"))
    before = calls.inner_text()
    expect(calls).not_to_have_text(before)
    expect(calls).to_have_text(re.compile(r"\d+ calls"))


def test_jupyterlab_shows_that_the_kernel_is_busy(lab) -> None:
    lab.write("sign.ipynb", SETUP, "_ = step(tf.ones([1, 8]))", LONG)
    lab.load("sign.ipynb")
    lab.wait_for_kernel()
    lab.run(0)
    lab.run(1)
    lab.start(2)
    expect(status(lab)).to_contain_text("| Busy")
    # Opening the panel makes the kernel handle messages beside the cell.
    lab.open_panel()
    expect(lab.section("Functions")).to_contain_text("1 trace")
    expect(lab.open_section("Devices")).to_contain_text("CPU:0")  # which nobody can ask for now
    expect(lab.panel).not_to_contain_text("TensorFlow has not been")
    expect(status(lab)).to_contain_text("| Busy", timeout=SOON)
    expect(lab.panel.locator(".nbfn-Header")).to_contain_text("Busy", timeout=SOON)
    lab.page.wait_for_timeout(1000)
    expect(status(lab)).to_contain_text("| Busy", timeout=1)
    lab.menu("Kernel", "Interrupt Kernel")
    expect(status(lab)).to_contain_text("| Idle")
    expect(lab.panel.locator(".nbfn-Header")).to_contain_text("Idle", timeout=SOON)


def test_a_page_that_is_loaded_again_in_mid_run_shows_it(lab) -> None:
    lab.open("again.ipynb", SETUP, LONG)
    lab.run(0)
    timeline = lab.panel.locator("summary", has_text="Timeline").locator(".nbfn-Note")
    lab.start(1)
    follows_the_calls(lab)
    expect(timeline).to_contain_text("in 2 runs")
    before = timeline.inner_text()
    expect(timeline).not_to_have_text(before)
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_have_text("[*]:")
    lab.page.reload()
    expect(lab.panel.locator(".nbfn-Header")).to_contain_text("Busy")
    # JupyterLab holds messages back for three seconds, as long as the kernel does not answer it.
    expect(lab.section("Functions")).to_contain_text("1 trace", timeout=3000 + 2 * SOON)
    follows_the_calls(lab)
    expect(status(lab)).to_contain_text("| Busy", timeout=SOON)
    expect(lab.panel.locator(".nbfn-Header")).to_contain_text("A cell is running")
    expect(timeline).to_contain_text("in 2 runs")


THREADS = """
import threading, time
def count(): return sum("subshell" in each.name for each in threading.enumerate())
end = time.monotonic() + 20
while not 0 < count() < 3 and time.monotonic() < end:
    time.sleep(0.2)
count()
"""


def test_pages_that_are_loaded_again_leave_no_threads_in_the_kernel(lab) -> None:
    lab.open("threads.ipynb", SETUP, THREADS)
    lab.run(0)
    for _ in range(2):
        expect(lab.panel).to_contain_text("step(images)")
        lab.page.wait_for_timeout(2000)  # until the kernel has started the thread
        lab.page.reload()
    expect(lab.panel).to_contain_text("step(images)")
    lab.run(1)
    # Of three pages; on a busy machine one may have ended before its thread was there.
    expect(lab.cell(1).locator(".jp-OutputArea-output")).to_have_text(re.compile("^[12]$"))


def test_whatever_gets_lost_the_panel_follows_a_running_cell(lab) -> None:
    lab.page.add_init_script(LOSE)
    lab.open("lost.ipynb", SETUP, LONG)
    early = [
        "comm_msg presence",
        "comm_info_request nbfn.presence",
        "create_subshell_request",
        "create_subshell_reply",
        "comm_open attach",
        "comm_msg snapshot",
    ]
    lose(lab, *early)
    lab.start(0)
    lab.start(1)
    expect(lab.section("Functions")).to_contain_text("1 trace")
    expect_lost(lab, *early)
    follows_the_calls(lab)
    expect(lab.panel).not_to_contain_text("TensorFlow has not been")
    late = ["comm_msg patch", "comm_msg request_snapshot", "comm_msg snapshot", "comm_open attach"]
    lose(lab, *late)
    calls = lab.section("Functions").locator(f".nbfn-Row {CALLS}")
    lab.page.wait_for_function("toLose.length === 0")
    before = calls.inner_text()
    expect(calls).not_to_have_text(before, timeout=SOON)
    expect_lost(lab, *early, *late)


def test_the_last_patch_of_a_cell_is_not_missed(lab) -> None:
    lab.page.add_init_script(LOSE)
    lab.open("last.ipynb", SETUP, "_ = step(tf.ones([1, 8]))")
    lab.run(0)
    expect(lab.panel).to_contain_text("step(images)")
    lose(lab, "comm_msg patch trace_seconds")
    lab.run(1)
    expect(lab.section("Functions")).to_contain_text("1 trace", timeout=SOON)


def test_a_kernel_that_holds_everything_up_is_shown_as_soon_as_it_can_answer(lab) -> None:
    held = "import ctypes, time\nctypes.PyDLL(None).sleep(5)\nn = 1\ntime.sleep(3600)"
    lab.open("held.ipynb", f"%load_ext nbfn\n{held}")
    lab.start(0)
    expect(lab.panel).to_contain_text(EMPTY)
    expect(lab.cell(0).locator(".jp-InputPrompt")).to_have_text("[*]:")
    lab.menu("Kernel", "Interrupt Kernel")
    expect(status(lab)).to_contain_text("| Idle")
    expect(lab.panel).to_contain_text(EMPTY)


def test_a_kernel_that_is_restarted_in_mid_run_is_shown_again(lab) -> None:
    lab.open("restarted.ipynb", SETUP, LONG)
    lab.run(0)
    lab.start(1)
    follows_the_calls(lab)
    lab.menu("Kernel", "Restart Kernel…")
    lab.answer("Restart")
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.wait_for_kernel()
    lab.start(0)
    lab.start(1)
    expect(lab.section("Functions")).to_contain_text("1 trace")
    follows_the_calls(lab)


def test_a_notebook_that_has_run_is_seen_when_nbfn_is_loaded_from_the_panel(lab) -> None:
    made = (
        "import tensorflow as tf, keras\n"
        "net = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])\n"
        "rate = tf.Variable(0.5)\n@tf.function\ndef scaled(x):\n    return net(x) * rate\n"
    )
    lab.open("late.ipynb", made, "_ = scaled(tf.ones([1, 2]))", "_ = scaled(tf.ones([3, 2]))")
    for index in range(3):
        lab.run(index)
    lab.panel.get_by_role("button", name="Load nbfn").click()
    expect(lab.section("Functions")).to_contain_text("scaled(x)")
    expect(lab.section("Functions")).to_contain_text("2 traces")
    expect(lab.open_section("Models")).to_contain_text("net")
    expect(lab.open_section("Variables")).to_contain_text("rate")
    expect(lab.open_section("Devices")).to_contain_text("CPU:0")
    expect(lab.panel).not_to_contain_text("TensorFlow has not been")


def test_a_kernel_that_is_killed_leaves_nothing(lab) -> None:
    kill = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    lab.open("killed.ipynb", SETUP + "_ = step(tf.ones([1]))", kill, "%load_ext nbfn")
    lab.run(0)
    expect(lab.section("Functions")).to_contain_text("1 trace")
    lab.start(1)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(lab.section("Functions")).not_to_be_visible(timeout=SOON)
    expect(lab.panel.locator(".nbfn-Header")).not_to_contain_text("running", timeout=SOON)
    expect(lab.panel).to_contain_text(NOT_LOADED)
    lab.wait_for_kernel()
    lab.run(2)
    expect(lab.panel).to_contain_text(EMPTY)


def test_a_notebook_that_changes_its_kernel_is_shown_with_the_new_one(lab) -> None:
    lab.open("changed.ipynb", SETUP + "_ = step(tf.ones([1]))")
    lab.run(0)
    lab.open_too("owner.ipynb", "%load_ext nbfn")
    lab.run(0)
    lab.tab("changed.ipynb").click()
    expect(lab.section("Functions")).to_contain_text("1 trace")
    lab.share_kernel("owner.ipynb")
    # The panel keeps the view of a kernel that it has shown, and hides it.
    expect(lab.panel.get_by_text("1 trace").filter(visible=True)).to_have_count(0)
    expect(lab.panel.get_by_text(EMPTY).filter(visible=True)).to_have_count(1)


def test_two_pages_show_the_same_kernel(lab) -> None:
    lab.open("shared.ipynb", SETUP, "_ = step(tf.ones([1]))", LONG)
    lab.run(0)
    second: Page = lab.page.context.new_page()
    second.goto(f"{lab.server.url}/lab/workspaces/second/tree/shared.ipynb")
    second.locator('[data-id="nbfn-session-panel"]').first.click()
    panel = second.locator("#nbfn-session-panel")
    expect(panel).to_contain_text("step(images)")
    lab.run(1)
    expect(panel).to_contain_text("1 trace", timeout=SOON)
    lab.start(2)
    expect(panel.locator(".nbfn-Header")).to_contain_text(re.compile(r"In \[\d+\]"), timeout=SOON)
    expect(panel.locator(".nbfn-Header")).to_contain_text("Busy", timeout=SOON)
    lab.page.close()
    expect(panel.locator(".nbfn-Header")).to_contain_text("Busy")
    expect(panel).to_contain_text("step(images)")


def test_a_kernel_that_is_too_old_says_what_to_do(lab) -> None:
    older = "import nbfn.protocol\nnbfn.protocol.PROTOCOL -= 1\n"
    lab.open("older.ipynb", f"{older}get_ipython().run_line_magic('load_ext', 'nbfn')")
    lab.run(0)
    expect(lab.panel).to_contain_text("too old for this page")
    lab.panel.get_by_role("button", name="Insert This Command").click()
    expect(lab.notebook.locator(".jp-Cell")).to_have_count(2)
    lab.expect_source(1, "%pip install --upgrade nbfn")
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_have_text("[ ]:")
