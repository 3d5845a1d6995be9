"""The stored notebooks are clean, and the Binder image can be built from what is here."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_is_stored_that_should_not_be(path: Path) -> None:
    notebook = json.loads(path.read_text())
    assert "widgets" not in notebook["metadata"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert path.stat().st_size < 200_000
    for cell in notebook["cells"]:
        assert cell["metadata"].keys() <= {"tags"}
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr", "".join(output["text"])
            assert "application/vnd.jupyter.widget-view+json" not in output.get("data", {})


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_code_cell_has_been_run_in_order(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_binders_scripts_run_and_stop_on_errors() -> None:
    for name in ("postBuild", "start"):
        assert os.access(ROOT / "binder" / name, os.X_OK)
    assert "set -euo pipefail" in (ROOT / "binder" / "postBuild").read_text()
    assert (ROOT / "binder" / "start").read_text().rstrip().endswith('exec "$@"')
