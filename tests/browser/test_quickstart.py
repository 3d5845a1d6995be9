"""The quickstart, run in the page as a newcomer runs it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from playwright.sync_api import expect

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01-quickstart.ipynb"


def test_the_quickstart_runs_and_the_panel_tells_its_story(lab) -> None:
    shutil.copy(NOTEBOOK, lab.server.notebooks / "quickstart.ipynb")
    lab.load("quickstart.ipynb")
    lab.wait_for_kernel()
    lab.page.locator('[data-id="nbfn-session-panel"]').first.click()
    lab.notebook.locator("h2", has_text="Apply the remedy").click()
    lab.menu("Run", "Run All Above Selected Cell")
    functions = lab.section("Functions")
    expect(functions).to_contain_text("train_step")
    retrace = lab.section("Retraces")
    expect(retrace).to_contain_text("images: shape was [64, 64], is [29, 64]")
    expect(retrace).to_contain_text("In [6], line 13")
    expect(retrace.locator("button", has_text="Let one trace serve").first).to_be_visible()
    expect(lab.page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
    expect(lab.open_section("Variables")).to_contain_text("model")
    expect(lab.open_section("Devices")).to_contain_text("CPU:0")
    errors = lab.notebook.locator('.jp-RenderedText[data-mime-type*="stderr"]')
    assert not [text for text in errors.all_inner_texts() if re.search(r"Error|Traceback", text)]
