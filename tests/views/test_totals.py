"""Every place that says how much there is says the same, at every moment of a notebook."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nbfn import protocol
from nbfn.text import count, duration
from tests.command.conftest import run as run_command
from tests.harness import notebooks
from tests.harness.html import Page
from tests.harness.kernel import Kernel, running_kernel

MODELS = (
    "%load_ext nbfn\nimport gc, keras, nbfn, tensorflow as tf\nrate = tf.Variable(0.5)",
    "model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(2)])\n"
    "@nbfn.function\ndef predict(x):\n    return model(x) * rate\n"
    "for n in (1, 2):\n    predict(tf.ones([n, 3]))",
    "class Trainer:\n    def __init__(self):\n        self.steps = tf.Variable(0)\n"
    "    @nbfn.function\n    def step(self, x):\n        self.steps.assign_add(1)\n"
    "        return x\ntrainer = Trainer()\ntrainer.step(tf.ones([1]))",
    "%%tf_function body\ntotal = tf.constant(0.)\nfor n in range(60):\n"
    "    total = total + tf.reduce_sum(tf.ones([90, 90]) @ tf.ones([90, 90])) * rate",
    "%%tf_function body\ntotal = tf.constant(0.)\nfor n in range(60):\n"
    "    total = total + tf.reduce_sum(tf.ones([90, 90]) @ tf.ones([90, 90])) * rate",
    "table = tf.constant([1., 2., 3.])\nplain = tf.function(lambda x: x + table)\n"
    "nbfn.watch(plain)\nplain(tf.ones([1, 3])), plain(tf.ones([2, 3]))",
    "def helper():\n    inner = tf.Variable(1.0)\n    made = nbfn.function(lambda x: x * inner)\n"
    "    for n in (1, 2, 3):\n        made(tf.ones([n]))\n    return made\nkept = [helper()]",
    "data = tf.data.Dataset.range(3).map(lambda n: n + 1)\nlist(data)\nunused = tf.Variable(2.)",
    "kept.clear()\ndel predict\ngc.collect()",
    "model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(4)])\n_ = gc.collect()",
    "del trainer, unused, body\n_ = gc.collect()",
)
"""Cells with models, methods, segments, watched functions, what is made and dropped."""

SHOWN = "import nbfn, pathlib\nnbfn.report({file!r})\nnbfn.session()"


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    with running_kernel() as started:
        yield started


class Panel:
    """What a page of JupyterLab has, by the messages of its comm."""

    def __init__(self, kernel: Kernel) -> None:
        attach = protocol.Attach(protocol=protocol.PROTOCOL, nbfn="0").model_dump()
        kernel.send("comm_open", comm_id="page", target_name="nbfn", data=attach)
        snapshot = kernel.received("page")
        self.tables: dict[str, dict[str, Any]] = snapshot["state"]
        self.totals: dict[str, Any] = snapshot["totals"]
        request = protocol.RequestOutlines(targets=["variables"]).model_dump()
        kernel.send("comm_msg", comm_id="page", data=request)
        self.variables = kernel.received("page")["pages"]["variables"]

    def take(self, message: dict[str, Any]) -> None:
        """Takes a patch."""
        data = message.get("data", {})
        self.variables = data.get("pages", {}).get("variables", self.variables)
        if message.get("comm_id") == "page" and data.get("type") == "patch":
            self.totals = data["totals"]
            for name, table in self.tables.items():
                table.update(data["put"][name])
                for id in data["removed"][name]:
                    table.pop(id, None)

    @property
    def listed(self) -> dict[str, int]:
        """How many rows the sections of the panel have."""
        inside = {id for cell in self.tables["cells"].values() for id in cell["functions"]}
        return {
            "functions": len(self.tables["functions"].keys() - inside),
            "variables": sum(map(leaves, self.variables["tables"][:1])),
            **{name: len(self.tables[name]) for name in ("cells", "traces", "retraces")},
        }


def leaves(tree: dict[str, Any]) -> int:
    """How many rows of a tree have no parts."""
    depths = [*tree["depths"], 0]
    if tree["title"] != "variables":  # there are none, and another table is the first
        return 0
    return sum(after <= depth for depth, after in pairwise(depths))


def sentences(totals: dict[str, Any]) -> list[str]:
    """What the text of a session says of some totals."""
    said = [count(totals[f"{noun}s"], noun) for noun in ("function", "cell", "variable")]
    if totals["traces"]:
        said += [count(totals[f"{noun}s"], noun) for noun in ("trace", "retrace")]
        said.append(f"{duration(totals['trace_seconds'])} to trace")
    return said


def rows_of(text: str, title: str) -> int:
    """How many rows a table of a plain text has, those that are only counted included."""
    _, _, table = text.partition(f"\n{title}:\n")
    rows = table.partition("\n\n")[0].splitlines()[1:]
    more = re.search(r"and ([\d,]+) more$", rows[-1]) if rows else None
    return len(rows) - 1 + int(more[1].replace(",", "")) if more else len(rows)


def test_text_panel_timeline_and_report_say_the_same(kernel, tmp_path) -> None:
    kernel.run(f"import os; os.chdir({str(tmp_path)!r})")
    kernel.run(MODELS[0], cell_id="cell-0")
    panel = Panel(kernel)
    moments = []
    for number, cell in enumerate(MODELS[1:], 1):
        replies = [kernel.run(cell, cell_id=f"cell-{number}")]
        assert not any("ename" in output for output in replies[0].outputs), replies[0].text
        replies.append(kernel.run(SHOWN.format(file="session.html"), cell_id="looks"))
        for message in (message for reply in replies for message in reply.comms):
            panel.take(message)
        (view,) = (data for o in replies[1].outputs if (data := o["data"]))
        totals = panel.totals
        moments.append({name: totals[name] for name in panel.listed})
        assert moments[-1] == panel.listed
        tracing = sum(run["tracing"] for run in panel.tables["runs"].values())
        assert totals["trace_seconds"] == pytest.approx(tracing, abs=1e-4)
        assert totals["runs"] == sum(run["runs"] for run in panel.tables["runs"].values())
        for text in (view["text/plain"], Page(view["text/html"]).text):
            assert [said for said in sentences(totals) if said not in text] == [], text
        for title in ("functions", "cells", "models", "variables"):
            assert rows_of(view["text/plain"], title) == totals[title]
        saved = view[protocol.MIME_TYPE]["snapshot"]["totals"]
        in_runs = f"{duration(saved['run_seconds'])} in {count(saved['runs'], 'run')} of cells"
        assert in_runs in view["text/plain"]
        # The cell that shows it has not ended in the view.
        assert saved | {name: totals[name] for name in ("runs", "run_seconds")} == pytest.approx(
            totals
        )
        scripts = Page((tmp_path / "session.html").read_text()).scripts
        report = json.loads(scripts["nbfn-traits"])["snapshot"]["totals"]
        assert {name: report[name] for name in moments[-1]} == moments[-1]
    assert len({tuple(each.values()) for each in moments}) > 5  # or little was compared
    if os.name != "nt":
        # Measured times decide which lines of a cell get a trace of their own.
        last = {name: number for name, number in moments[-1].items() if name != "traces"}
        assert run_of(MODELS, tmp_path / "again") == last


def run_of(cells: Sequence[str], folder: Path) -> dict[str, int]:
    """What the report of ``nbfn run`` counts, in its head and in its views."""
    folder.mkdir()
    notebooks.write(folder / "notebook.ipynb", *cells)
    ended = run_command(folder, "run", "notebook.ipynb", "--report", "report.html")
    assert ended.code == 0, ended.err
    page = Page((folder / "report.html").read_text())
    totals = json.loads(page.scripts["nbfn-traits"])["snapshot"]["totals"]
    head = page.text[: page.text.index("Notebook ")]
    for noun in ("function", "trace", "retrace"):
        number = totals[f"{noun}s"]
        assert count(number, noun) in head, head
    assert f"{duration(totals['trace_seconds'])} tracing" in head
    return {name: totals[name] for name in ("functions", "variables", "cells", "retraces")}


def test_a_loaded_model_counts_what_it_lists(tmp_path) -> None:
    import tensorflow as tf

    import nbfn
    from nbfn.views.loaded import loaded_outline

    f = nbfn.function(lambda x: x + 1.0)
    for shape in ([1], [2, 2]):
        f(tf.ones(shape))
    nbfn.export(tmp_path / "model", f, verify=False)
    text = loaded_outline(nbfn.load(tmp_path / "model")).text()
    assert "1 function, 0 variables" in text
    assert rows_of(text, "signatures") == 2
    assert "\nfunctions:" not in text
