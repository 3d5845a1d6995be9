"""The pages are built without a warning, and name what there is."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import nbfn
from nbfn.command.main import main
from nbfn.protocol import CauseCode
from tests.docs.pages import DOCS


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q"]
    done = subprocess.run(
        [*command, "-d", str(folder / "cache"), str(DOCS), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_each_kind_of_cause_is_an_anchor(built: Path) -> None:
    anchors = set(re.findall(r'id="([^"]+)"', (built / "causes.html").read_text()))
    assert set(get_args(CauseCode)) <= anchors


def test_every_public_name_is_in_the_reference(built: Path) -> None:
    anchors = {
        anchor
        for page in (built / "reference").glob("*.html")
        for anchor in re.findall(r'id="(nbfn\.[\w.]+)"', page.read_text())
    }
    names = set(nbfn.__all__) - {"nn", "__version__"}
    last = {anchor.rpartition(".")[2] for anchor in anchors}
    assert names - last == set()


def test_no_page_loads_anything_from_elsewhere(built: Path) -> None:
    for page in built.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link)[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text()
        )
        assert [each for each in loaded if not each.startswith("https://nbfn.github.io")] == []


def words(page: Path) -> str:
    """The text of a page, without its tags."""
    return re.sub(r"<[^>]+>", "", page.read_text())


def generated() -> Any:
    """The extension that writes pages of parsers."""
    spec = importlib.util.spec_from_file_location("generated", DOCS / "extensions/generated.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_magic_and_command_has_its_section_with_its_options(built: Path) -> None:
    sections = re.findall(r"^## `(.+)`$", (DOCS / "reference/magics.md").read_text(), re.MULTILINE)
    assert sections == list(generated().magics())
    text = words(built / "reference/magics.html")
    for option in ("--whole", "--on-stale", "--trace TRACE", "--no-verify"):
        assert option in text
    commands = (DOCS / "reference/command-line.md").read_text()
    assert re.findall(r"^## `nbfn (.+)`$", commands, re.MULTILINE) == list(main.commands)
    text = words(built / "reference/command-line.html")
    assert "--max-retraces" in text
    assert "more retraces than" in text


def test_no_folder_of_pages_is_crowded() -> None:
    for folder in {path.parent for path in DOCS.rglob("*.md")}:
        assert len([each for each in folder.glob("*.*") if each.stem != "index"]) <= 12


def test_every_tutorial_is_listed_where_people_look() -> None:
    names = {path.stem for path in (DOCS.parent / "notebooks").glob("*.ipynb")}
    page = (DOCS / "tutorials.md").read_text()
    for role in ("notebook", "binder"):
        assert set(re.findall(rf"{{{role}}}`[^<`]+<([^>`]+)>`", page)) == names
    readme = (DOCS.parent / "README.md").read_text()
    assert set(re.findall(r"\]\(notebooks/([^)]+)\.ipynb\)", readme)) == names
