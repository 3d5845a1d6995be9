"""The stored notebooks are clean, and the Binder image can be built from what is here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from nbfn.errors import TENSORFLOW
from tests.programs.binder import dependencies

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_is_stored_that_should_not_be(path: Path) -> None:
    notebook = json.loads(path.read_text())
    assert "widgets" not in notebook["metadata"]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert path.stat().st_size < 500_000
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


BADGE = re.compile(r"mybinder\.org/v2/gh/([^/\s)]+)/([^/\s)]+)/HEAD(\?[^\s)\"]*)?")


def broken_badges(text: str) -> list[str]:
    """The links to Binder in a text that open no notebook of this folder in JupyterLab."""
    broken = []
    for badge in BADGE.finditer(text):
        asked = parse_qs((badge[3] or "").removeprefix("?")).get("urlpath", [""])[0]
        path = asked.removeprefix("lab/tree/")
        if path == asked or ROOT / path not in NOTEBOOKS:
            broken.append(badge[0])
    return broken


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *NOTEBOOKS], ids=lambda path: path.name)
def test_binders_badges_open_notebooks_that_are_here(path: Path) -> None:
    assert broken_badges(path.read_text()) == []


def test_a_badge_to_nowhere_is_seen() -> None:
    start = "https://mybinder.org/v2/gh/org/repo/HEAD"
    here = NOTEBOOKS[0].name
    for end in (f"notebooks/{here}", f"notebooks%2F{here}"):
        assert broken_badges(f"[![Binder](b.svg)]({start}?urlpath=lab/tree/{end})") == []
    for end in ("", "?urlpath=lab/tree/notebooks/00-none.ipynb", f"?urlpath=tree/notebooks/{here}"):
        assert broken_badges(f"[![Binder](b.svg)]({start}{end})") == [
            f"{start}{end}".removeprefix("https://")
        ]


def test_binders_scripts_run_and_stop_on_errors() -> None:
    for name in ("postBuild", "start"):
        assert os.access(ROOT / "binder" / name, os.X_OK)
    assert "set -euo pipefail" in (ROOT / "binder" / "postBuild").read_text()
    assert (ROOT / "binder" / "start").read_text().rstrip().endswith('exec "$@"')


def test_binder_has_what_nbfn_needs() -> None:
    conda, wanted = dependencies(ROOT / "binder" / "environment.yml")
    assert re.fullmatch(r"=3\.1[1-3]", conda["python"])
    assert conda["nodejs"] == ">=22.12,<23"  # within the engines of package.json
    assert wanted == [TENSORFLOW.replace("tensorflow", "tensorflow-cpu")]


def test_binder_installs_everything_but_another_tensorflow() -> None:
    (command,) = re.findall(
        r"^python (.*?) >", (ROOT / "binder" / "postBuild").read_text(), re.MULTILINE
    )
    said = subprocess.run(
        [sys.executable, *command.split()], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    everything = [*project["dependencies"], *project["optional-dependencies"]["lab"]]
    assert sorted([*said, TENSORFLOW]) == sorted(everything)
